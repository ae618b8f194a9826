import type { PostedMessage } from '@troupe/protocol';
import type { StreamItem } from '@troupe/sdk';
import { plain } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { taskNote } from './tasks.ts';

const QUIET_MS = 1_000;

/** Shows an answer while it is written: its text on `out`, tools and a sign of waiting on `err`. */
export class Writing {
  readonly #terminal: Terminal;
  /** What is shown of the text of the step. */
  #shown = '';
  #step = 0;
  /** Told while a line was being written. */
  #held = '';
  #timer: NodeJS.Timeout | null = null;
  #isMarked = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#wait();
  }

  show(item: StreamItem, { run }: PostedMessage): void {
    if (item.kind === 'delta' && item.delta.type === 'message.delta' && item.delta.runId === run?.id) {
      const { step, offset, text } = item.delta;
      if (step !== this.#step) this.#endLine();
      this.#step = step;
      // A piece that begins at 0 is all there is: another try of the model begins anew.
      if (offset === 0 && !text.startsWith(this.#shown)) this.#endLine();
      // What does not continue what is shown comes with the whole, at the end.
      if (offset <= this.#shown.length) this.#out(text.slice(this.#shown.length - offset));
    } else if (item.kind === 'event' && item.event.type === 'tool.started' && item.event.runId === run?.id) {
      this.#endLine();
      this.#unmark();
      this.#terminal.err(`  [${plain(String(item.event.data.tool ?? item.event.data.name ?? 'tool'))}]\n`);
      this.#wait();
    } else if (item.kind === 'event' && item.event.type === 'tool.waiting' && item.event.runId === run?.id) {
      // Somebody else has the word; there is nothing to wait for that could be shown.
      this.#endLine();
      this.#unmark();
      if (this.#timer) clearTimeout(this.#timer);
    } else if (item.kind === 'event' && item.event.type.startsWith('task.')) {
      const line = taskNote(item.event);
      if (line === null) return;
      // An answer is not cut in two by what becomes of tasks in the background.
      if (this.#shown !== '') {
        this.#held += `  [${line}]\n`;
        return;
      }
      this.#unmark();
      this.#terminal.err(`  [${line}]\n`);
      this.#wait();
    }
  }

  /** Whatever of the answer was not shown yet, and the end of its line. */
  finish(text: string): void {
    if (!text.startsWith(this.#shown)) this.#endLine();
    this.#out(text.slice(this.#shown.length));
    this.stop();
    if (text === '') this.#terminal.err('The agent gave no answer.\n');
  }

  /** Nothing more comes. */
  stop(): void {
    this.#unmark();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#endLine();
  }

  #out(text: string): void {
    if (text === '') return;
    this.#unmark();
    this.#terminal.out(plain(text));
    this.#shown += text;
    this.#wait();
  }

  #endLine(): void {
    if (this.#shown === '') return;
    this.#unmark();
    if (!this.#shown.endsWith('\n')) this.#terminal.out('\n');
    this.#shown = '';
    if (this.#held !== '') this.#terminal.err(this.#held);
    this.#held = '';
  }

  #wait(): void {
    if (!this.#terminal.isWatched) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isMarked = true;
      this.#terminal.err('…');
    }, QUIET_MS);
  }

  #unmark(): void {
    // One step back, for there may be text before it on the line.
    if (this.#isMarked) this.#terminal.err('\b \b');
    this.#isMarked = false;
  }
}
