import { decide } from '../../src/kernel/decide.ts';
import { lostVerdict } from '../../src/kernel/fence.ts';
import type { Commit, Decision, RunEffect, RunInput, RunState } from '../../src/kernel/state.ts';
import type { CommitItem, Committed } from '../../src/store/queries/commit.ts';
import { ModelStore } from './model-store.ts';
import type { RunRecord, ThreadRecord } from './records.ts';
import { RULES, type Rules } from './simulation.ts';

// Known mistakes, one each. The simulation must notice every one of them: where it does not, it has gone blind.

type Input<Type extends RunInput['type']> = RunInput & { type: Type };

/** The real decisions, but for what `change` does to the input or to the outcome. */
function deciding(
  change: (state: RunState, input: RunInput, then: typeof decide) => Decision,
): Partial<Rules> {
  return { decide: (state, input) => change(state, input, decide) };
}

function changingCommits(change: (commit: Commit) => Commit): Partial<Rules> {
  return deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    return [
      after,
      effects.map((effect) =>
        effect.type === 'commit' ? { ...effect, commit: change(effect.commit) } : effect,
      ),
    ];
  });
}

const mutants: Record<string, Partial<Rules>> = {
  // ---- the store

  'the fence ignores the version': {
    Store: class extends ModelStore {
      protected override refuses(run: RunRecord, item: CommitItem): boolean {
        return run.status !== 'running' || run.epoch !== item.epoch || run.worker !== item.worker;
      }
    },
  },
  'the fence ignores who holds the run': {
    Store: class extends ModelStore {
      protected override refuses(run: RunRecord): boolean {
        return run.status !== 'running';
      }
    },
  },
  'a claim leaves the fence as it was': {
    Store: class extends ModelStore {
      protected override take(run: RunRecord, worker: string): void {
        super.take(run, worker);
        run.epoch -= 1;
      }
    },
  },
  'parks although nothing is open': {
    Store: class extends ModelStore {
      protected override mode(run: RunRecord, item: CommitItem, outside: number) {
        return item.park ? ('parked' as const) : super.mode(run, item, outside);
      }
    },
  },
  'completes although somebody spoke meanwhile': {
    Store: class extends ModelStore {
      protected override mode(run: RunRecord, item: CommitItem, outside: number) {
        return item.target === 'completed' ? ('ended' as const) : super.mode(run, item, outside);
      }
    },
  },
  'the last settler does not queue the run': {
    Store: class extends ModelStore {
      protected override settled(run: RunRecord): boolean {
        run.openCalls -= 1;
        return false;
      }
    },
  },
  'every settler queues the run': {
    Store: class extends ModelStore {
      protected override settled(run: RunRecord): boolean {
        const { status } = run;
        const queued = super.settled(run);
        if (status === 'waiting_tool' && !queued) {
          run.status = 'queued';
          run.waitDeadline = null;
        }
        return status === 'waiting_tool';
      }
    },
  },
  'the last absorber wins': {
    Store: class extends ModelStore {
      protected override absorbedByAnother(): boolean {
        return false;
      }
    },
  },
  'the next run of a serial thread is forgotten': {
    Store: class extends ModelStore {
      protected override promote(ended: RunRecord): boolean {
        const thread = this.threads.get(ended.thread)!;
        if (thread.activeRun === ended.id) thread.activeRun = null;
        return false;
      }
    },
  },
  'a lane has no limit': {
    Store: class extends ModelStore {
      protected override laneHasPlace(): boolean {
        return true;
      }
    },
  },
  'a canceled run keeps its open calls': {
    Store: class extends ModelStore {
      protected override closeCalls(): void {}
    },
  },
  'an event takes a number too many': {
    Store: class extends ModelStore {
      protected override append(
        thread: ThreadRecord,
        ...rest: Parameters<ModelStore['append']> extends [unknown, ...infer Rest] ? Rest : never
      ): number {
        const base = super.append(thread, ...rest);
        if (rest[1].length === 0) thread.lastEventSeq += 1;
        return base;
      }
    },
  },

  // ---- the decisions

  'once calls are executed again on takeover': deciding((state, input, then) =>
    then(
      state,
      input.type === 'claimed'
        ? { ...input, calls: input.calls.map((call) => ({ ...call, effect: 'idempotent' })) }
        : input,
    ),
  ),
  'calls start before they are on disk': deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    if (input.type !== 'answered') return [after, effects];
    return [
      { ...after, starting: [], executing: after.starting.map((call) => call.id) },
      [...after.starting.map((call): RunEffect => ({ type: 'execute', call })), ...effects],
    ];
  }),
  'thinks on before results are on disk': deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    const results = effects.find((effect) => effect.type === 'commit' && effect.commit.name === 'result');
    if (!results || after.executing.length > 0) return [after, effects];
    const think = { step: after.step + 1, modelIndex: after.modelIndex, attempt: after.attempt + 1 };
    return [{ ...after, phase: 'thinking' }, [{ type: 'think', ...think }]];
  }),
  'a result that comes during a commit is dropped': deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    if (input.type !== 'tool_finished' || state.phase !== 'committing') return [after, effects];
    return [{ ...after, finished: state.finished }, effects];
  }),
  'waits for nobody outside': deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    const unparked = effects.map(
      (effect): RunEffect =>
        effect.type === 'commit' ? { ...effect, commit: { ...effect.commit, park: false } } : effect,
    );
    return [{ ...after, outside: 0 }, unparked];
  }),
  'a call that was handed over is forgotten': deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    if (input.type !== 'tool_handed_over' || effects.length > 0) return [after, effects];
    return [{ ...after, outside: state.outside }, effects];
  }),
  'a call that was handed over gets a result': deciding((state, input, then) =>
    then(
      state,
      input.type === 'tool_handed_over'
        ? { type: 'tool_finished', call: { id: input.id, status: 'completed', output: null } }
        : input,
    ),
  ),
  'a call that was let through is overlooked': deciding((state, input, then) =>
    then(
      state,
      input.type === 'committed' && input.ready === null
        ? ({ ...input, ready: [] } as Input<'committed'>)
        : input,
    ),
  ),
  'calls that were let through are not told': deciding((state, input, then) =>
    then(state, input.type === 'committed' ? { ...input, ready: [] } : input),
  ),
  'ends without closing its calls': changingCommits(({ close: _, ...commit }) => commit),
  'a run that is let go during a commit is kept': deciding((state, input, then) => {
    const [after, effects] = then(state, input);
    return [{ ...after, lettingGo: false }, effects];
  }),
  'retries are counted as steps': changingCommits((commit) =>
    commit.name === 'retry' ? { ...commit, step: (commit.attempt ?? 0) + 1 } : commit,
  ),

  // ---- the fence, as the worker sees it, and its trust in itself

  'a refusal is always taken for a lost answer': { doneBefore: () => 'go' },
  'a lost answer counts later words as heard': {
    lostVerdict: (item, refusal, mode, now) =>
      ({ ...lostVerdict(item, refusal, mode, now), steers: now.steers }) as Committed & { ok: true },
  },
  'effects begin without a look at the lease': { trusts: () => true },
};

export const MUTANTS: [name: string, rules: Rules][] = Object.entries(mutants).map(([name, rules]) => [
  name,
  { ...RULES, ...rules },
]);
