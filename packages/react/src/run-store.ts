import type { FollowedRun, RunState, Troupe } from '@troupe/sdk';
import { type FollowedBase, FollowedStore } from './followed-store.ts';
import { hintOf } from './hints.ts';
import type { RunResult } from './results.ts';
import { sharedOf } from './shared.ts';

type State = Omit<RunResult, 'cancel' | 'retry' | 'fork'> & FollowedBase;

const NOTHING: State = {
  ...{ run: null, steps: [], calls: [], live: [] },
  ...{ connection: 'connecting', isLoading: true, error: null },
};

export function runStore(troupe: Troupe, runId: string | null): RunStore {
  return sharedOf(troupe, `run ${runId}`, () => new RunStore(troupe, runId));
}

class RunStore extends FollowedStore<RunState, FollowedRun, State> {
  readonly #runId: string | null;

  constructor(troupe: Troupe, runId: string | null) {
    super(troupe, NOTHING);
    this.#runId = runId;
  }

  get #run() {
    if (this.#runId === null) throw new Error('There is no run yet.');
    return this.troupe.run(this.#runId);
  }

  protected follow(): FollowedRun | null {
    return this.#runId === null ? null : this.#run.follow();
  }

  protected override isThere({ run }: RunState): boolean {
    return run !== null;
  }

  protected show({ run, live }: RunState): Partial<State> {
    return run ? { run, steps: run.steps, calls: run.calls, live } : {};
  }

  readonly actions = {
    cancel: async (): Promise<void> => {
      await this.#run.cancel();
      hintOf(this.troupe, ['runs', 'inbox', 'tasks']);
    },
    retry: async (options: { modelId?: string } = {}): Promise<void> => {
      await this.#run.retry(options);
      hintOf(this.troupe, ['runs', 'tasks']);
    },
    fork: async (from: Parameters<RunResult['fork']>[0]): Promise<string> => {
      const { id } = await this.#run.fork(from);
      hintOf(this.troupe, ['runs']);
      return id;
    },
  };
}
