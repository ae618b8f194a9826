import type { Session, StreamItem } from '@troupe/sdk';
import { plain } from '../output.ts';
import type { Terminal } from '../terminal.ts';

/**
 * What an agent says between the turns of a conversation, being told of a task that it gave in the background. It is shown when
 * it comes, but never in the middle of an answer.
 */
export class Meanwhile {
  readonly #session: Session;
  readonly #terminal: Terminal;
  readonly #name: string;
  readonly #ended = new AbortController();
  /** Runs whose answers are shown as turns. */
  readonly #shown = new Set<string>();
  #said: { run: string; text: string }[] = [];
  #isPaused = false;

  constructor(session: Session, terminal: Terminal, name: string) {
    this.#session = session;
    this.#terminal = terminal;
    this.#name = name;
  }

  /** From here on; that the connection fails is told by the next turn. */
  async begin(): Promise<void> {
    const { signal } = this.#ended;
    const { lastSequence } = await this.#session.events(
      { after: Number.MAX_SAFE_INTEGER, limit: 1 },
      { signal },
    );
    void this.#follow(lastSequence).catch(() => {});
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#show();
  }

  leaveOut(run: string | undefined): void {
    if (run !== undefined) this.#shown.add(run);
  }

  stop(): void {
    this.#ended.abort();
  }

  async #follow(after: number): Promise<void> {
    const { signal } = this.#ended;
    for await (const item of this.#session.stream({ after, signal })) {
      const said = spokenIn(item);
      if (!said || this.#shown.has(said.run)) continue;
      const { data } = await this.#session.messages(
        { before: Number.MAX_SAFE_INTEGER, limit: 50 },
        { signal },
      );
      const { text } = (data.find(({ id }) => id === said.message)?.content ?? {}) as { text?: string };
      if (text) this.#said.push({ run: said.run, text });
      this.#show();
    }
  }

  #show(): void {
    if (this.#isPaused) return;
    const said = this.#said.filter(({ run }) => !this.#shown.has(run));
    this.#said = [];
    // Whoever is asked for the next line has the prompt before them.
    for (const { text } of said) {
      this.#terminal.out(plain(`${this.#terminal.isWatched ? '\n' : ''}${this.#name}: ${text}\n`));
      if (this.#terminal.isWatched) this.#terminal.err('> ');
    }
  }
}

function spokenIn(item: StreamItem): { run: string; message: string } | undefined {
  if (item.kind !== 'event' || item.event.type !== 'message.created') return undefined;
  const { runId, data } = item.event;
  if (data.role !== 'assistant' || !runId) return undefined;
  return { run: runId, message: String(data.messageId) };
}
