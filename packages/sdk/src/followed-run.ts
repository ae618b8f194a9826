import type { ResultOf, runEndpoints } from '@troupe/protocol';
import { Followed, type FollowedState } from './followed.ts';
import { type LiveStep, withDelta } from './live-steps.ts';
import type { Run } from './run.ts';
import type { StreamItem } from './stream.ts';

/** A run at one moment, with its steps and calls. Nothing in it is ever changed: what changes is replaced. */
export interface RunState extends FollowedState {
  run: ResultOf<typeof runEndpoints.get> | null;
  live: readonly LiveStep[];
}

const ENDS = ['completed', 'failed', 'canceled'];

/** What a run is, from its stream: it is read again whenever something happened in it. */
export class FollowedRun extends Followed<RunState> {
  protected readonly over = { live: [] };
  readonly #run: Run;
  #reading: Promise<void> | null = null;
  #isStale = false;

  constructor(run: Run, { signal }: { signal?: AbortSignal } = {}) {
    super({ status: 'loading', error: null, run: null, live: [] }, signal);
    this.#run = run;
    this.begin();
  }

  protected async follow(ready: () => void): Promise<void> {
    const { signal } = this;
    const last = { after: Number.MAX_SAFE_INTEGER, limit: 1 };
    const { lastSequence } = await this.ask(() => this.#run.events(last, { signal }));
    this.#see(await this.ask(() => this.#run.get({ signal })));
    const onDisconnect = () => this.change({ status: 'reconnecting' });
    let known = lastSequence;
    for await (const item of this.#run.stream({ after: lastSequence, signal, onDisconnect })) {
      if (item.kind === 'connected') {
        this.change({ status: 'following' });
        ready();
        if (item.connected.lastSequence > known) this.#read();
      } else if (item.kind === 'event') {
        known = item.event.sequence;
        this.#read();
      } else this.#write(item);
    }
  }

  #write(item: StreamItem): void {
    if (item.kind !== 'delta' || item.delta.runId !== this.#run.id) return;
    const { run } = this.state;
    if (run && (ENDS.includes(run.status) || isWritten(run, item.delta.step))) return;
    const live = withDelta(this.state.live, item.delta);
    if (live !== this.state.live) this.change({ live });
  }

  /** Beside the stream, which goes on meanwhile; once more where something happened since it was asked. */
  #read(): void {
    this.#isStale = true;
    this.#reading ??= this.#readUntilFresh()
      .catch(() => {}) // The stream will say what is wrong.
      .finally(() => {
        this.#reading = null;
      });
  }

  async #readUntilFresh(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      this.#see(await this.ask(() => this.#run.get({ signal: this.signal })));
    }
  }

  #see(run: NonNullable<RunState['run']>): void {
    const isOver = ENDS.includes(run.status);
    this.change({ run, live: this.state.live.filter(({ step }) => !isOver && !isWritten(run, step)) });
  }
}

function isWritten({ steps }: { steps: { step: number }[] }, step: number): boolean {
  return steps.some((one) => one.step === step);
}
