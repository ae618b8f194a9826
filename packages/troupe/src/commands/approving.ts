import type { Event, WaitingCall, WaitsFor } from '@troupe/protocol';
import { ConflictError, ForbiddenError, type StreamItem, type Troupe } from '@troupe/sdk';
import { plain } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { waysOf } from './inbox.ts';

/** A reply is asked of nobody here. */
type Asked = Exclude<WaitsFor, 'reply' | 'answer'>;

/** What is typed, line by line, for whoever asks: a question that is of no use any more leaves the line to the next one. */
export class Lines {
  readonly #lines: AsyncIterator<string>;
  #next: Promise<string | null> | null = null;

  constructor(lines: AsyncIterable<string>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  /** Null at the end. The same line until somebody takes it. */
  next(): Promise<string | null> {
    this.#next ??= this.#lines.next().then(({ value, done }) => (done ? null : value));
    return this.#next;
  }

  async take(): Promise<string | null> {
    const line = await this.next();
    if (line !== null) this.#next = null;
    return line;
  }

  async close(): Promise<void> {
    await this.#lines.return?.();
  }
}

/** Tells of calls that wait for a person while an answer is awaited, and asks where somebody is there to say yes or no. */
export class Approving {
  readonly #troupe: Troupe;
  readonly #terminal: Terminal;
  readonly #lines: Lines | null;
  readonly #leave: { goOn: string; now: () => void };
  /** What each call that is asked about waits for: that somebody else settles it. */
  readonly #settled = new Map<string, () => void>();
  #asking: Promise<void> = Promise.resolve();

  /** Without lines, nobody is asked. `leave`: what ends the waiting where there are no more lines, and how to come back. */
  constructor(
    troupe: Troupe,
    terminal: Terminal,
    lines: Lines | null,
    leave: { goOn: string; now: () => void },
  ) {
    this.#leave = leave;
    this.#troupe = troupe;
    this.#terminal = terminal;
    this.#lines = lines;
  }

  hear(item: StreamItem, run: string | undefined): void {
    if (item.kind !== 'event' || item.event.runId !== run) return;
    const { type, data } = item.event;
    if (type !== 'tool.waiting') this.#settled.get(String(data.id))?.();
    else if (data.waitsFor !== 'task' && data.waitsFor !== 'reply') this.#queue(item.event);
  }

  /** Nobody waits for the answers any more. */
  stop(): void {
    for (const settled of this.#settled.values()) settled();
  }

  #queue({ runId, data }: Event): void {
    const id = String(data.id);
    const settled = new Promise<null>((resolve) => this.#settled.set(id, () => resolve(null)));
    // One question at a time.
    this.#asking = this.#asking
      .then(() => this.#ask(runId!, id, data.waitsFor as Asked, settled))
      .catch((error: Error) => this.#terminal.err(plain(`  ${error.message}\n`)))
      .finally(() => this.#settled.delete(id));
  }

  async #find(runId: string, callId: string, waitsFor: Asked): Promise<WaitingCall | undefined> {
    const { data } = await this.#troupe.inbox.list({ query: { runId, waitsFor, limit: 200 } });
    return data.find((one) => one.callId === callId);
  }

  async #ask(runId: string, callId: string, waitsFor: Asked, settled: Promise<null>): Promise<void> {
    const call = await this.#find(runId, callId, waitsFor);
    if (!call) return;
    const what = `${call.tool} ${JSON.stringify(call.arguments)}`;
    if (call.waitsFor === 'client') {
      const until = call.deadline ? ` until ${call.deadline}` : '';
      this.#terminal.err(plain(`  [${what}] waits${until} for a client that executes it\n`));
      return this.#tellWays(call);
    }
    if (call.waitsFor !== 'approval') {
      this.#terminal.err(plain(`  [${what}] may or may not have taken effect, and waits for a person:\n`));
      return this.#tellWays(call);
    }
    this.#terminal.err(plain(`  [${what}] waits for approval\n`));
    const line = this.#lines && (await this.#answerTo('  Approve? y, n, or why not\n', settled));
    if (line === null) {
      this.#tellWays(call);
      if (this.#lines) this.#leave.now();
    } else if (line !== undefined) await this.#settle(call, line.trim());
  }

  #tellWays(call: WaitingCall): void {
    this.#terminal.err(
      `  ${waysOf(call)}\n  Nobody needs to wait here. Come back with: ${this.#leave.goOn}\n`,
    );
  }

  /** Undefined where it was settled meanwhile, null where nobody answers. */
  async #answerTo(question: string, settled: Promise<null>): Promise<string | null | undefined> {
    this.#terminal.err(question);
    const isTyped = await Promise.race([this.#lines!.next().then(() => true), settled]);
    return isTyped ? this.#lines!.take() : undefined;
  }

  async #settle(call: WaitingCall, answer: string): Promise<void> {
    const { inbox } = this.#troupe;
    try {
      if (/^y(es)?$/i.test(answer)) await inbox.approve(call);
      else await inbox.reject(call, /^(no?)?$/i.test(answer) ? undefined : answer);
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof ForbiddenError)) throw error;
      this.#terminal.err(plain(`  ${error.message}\n`));
    }
  }
}
