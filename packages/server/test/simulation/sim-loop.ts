import type { AgentSnapshot, Json } from '@troupe/protocol';
import { initialState } from '../../src/kernel/decide.ts';
import { type Held, remember, toItem } from '../../src/kernel/fence.ts';
import { resolveCalls } from '../../src/kernel/resolve.ts';
import type {
  Commit,
  Executing,
  FinishedCall,
  RunEffect,
  RunInput,
  RunState,
} from '../../src/kernel/state.ts';
import type { ClaimedRun } from '../../src/store/queries/claim.ts';
import type { CommitItem, Committed } from '../../src/store/queries/commit.ts';
import { answer } from './agents.ts';
import { ConnectionLost, Poisoned } from './network.ts';
import type { SimWorker } from './sim-worker.ts';
import type { Simulation } from './simulation.ts';
import { type Course, run } from './timeline.ts';

/**
 * kernel/loop.ts in virtual time, line by line where it matters; decide.ts, fence.ts and resolve.ts are the real ones.
 * Models and tools answer after random times; commits go out again when their answer is lost, as in group-commit.ts.
 */
export class SimLoop {
  readonly run: ClaimedRun;
  readonly #simulation: Simulation;
  readonly #worker: SimWorker;
  readonly #snapshot: AgentSnapshot;
  readonly #held: Held;
  readonly #calls = new Map<string, { id: string; tool: string; args: Json }>();
  readonly #callIds = new Set<string>();
  #state: RunState;
  /** Changes with every abort; whatever was begun under another one no longer counts. */
  #signal = 0;
  #doing = { thinking: false, committing: false, executing: new Set<string>() };
  #promoted = false;
  committing = false;
  doubted = false;
  gone = false;

  constructor(simulation: Simulation, worker: SimWorker, run: ClaimedRun) {
    this.run = run;
    this.#simulation = simulation;
    this.#worker = worker;
    this.#snapshot = simulation.snapshots.get(run.snapshotId)!;
    this.#held = {
      run: run.id,
      worker: worker.incarnation,
      epoch: run.epoch,
      thread: run.threadId,
      version: run.version,
      known: run.lastSeq,
      steers: run.steers,
      transcript: run.messages,
    };
    for (const { role, runId, callId } of run.messages) {
      if (role === 'tool_call' && runId === run.id && callId !== null) this.#callIds.add(callId);
    }
    for (const call of run.calls) {
      this.#callIds.add(call.id);
      if (call.status === 'requested' || call.status === 'running') this.#calls.set(call.id, call);
    }
    const { limits, models, inDoubt } = this.#snapshot;
    this.#state = initialState(
      { limits, models: models.length, inDoubt },
      {
        ...run,
        toolCalls: run.calls.length,
        tokens: run.inputTokens + run.outputTokens,
      },
    );
  }

  start(): void {
    const { calls, epoch, openCalls, takeovers, remainingMs } = this.run;
    this.#simulation.timeline.after(Math.max(remainingMs, 1), this.#worker, () => {
      if (!this.gone) this.dispatch({ type: 'wall_time_over' });
    });
    this.dispatch({ type: 'claimed', calls, epoch, openCalls, takeovers, remainingMs });
  }

  dispatch(input: RunInput): void {
    const { rules, invariants } = this.#simulation;
    this.#simulation.note(() => `${this.#where} ← ${input.type}${detail(input)}`);
    this.#simulation.count(`input:${input.type}`);
    const [state, effects] = rules.decide(this.#state, input);
    this.#state = frozen(state);
    for (const effect of effects) {
      this.#simulation.count(`effect:${effect.type}`);
      this.#perform(effect);
    }
    invariants.active(this.run.id, this.#state, this.#doing);
  }

  get #where(): string {
    return `${this.#worker.name} ${this.#simulation.short(this.run.id)}`;
  }

  #perform(effect: RunEffect): void {
    switch (effect.type) {
      case 'think':
        this.#doing.thinking = true;
        run(this.#think(effect));
        break;
      case 'execute':
        this.#doing.executing.add(effect.call.id);
        run(this.#execute(effect.call));
        break;
      case 'commit':
        this.#doing.committing = true;
        run(this.#commit(effect.commit));
        break;
      case 'abort':
        this.#signal += 1;
        this.#doing.thinking = false;
        this.#doing.executing.clear();
        break;
      case 'gone':
        this.gone = true;
        this.#simulation.count(`gone:${effect.how}`);
        this.#worker.left(this.run.id, effect.how, this.#promoted);
        break;
    }
  }

  *#think(effect: RunEffect & { type: 'think' }): Course {
    const signal = this.#signal;
    const { random, invariants } = this.#simulation;
    if (!this.#worker.liveness.fresh()) yield* this.#worker.liveness.confirmed();
    if (signal !== this.#signal || this.gone) return;
    invariants.thinks(this.#held);
    const saw = this.#held.known;
    yield* this.#worker.sleep(random.between(1, random.pick([20, 200, 1_500])));
    if (signal !== this.#signal || this.gone) return;
    const result = answer(random, this.#simulation.manner);
    this.#doing.thinking = false;
    if (result.type === 'failed') {
      const { code, retryable, retryAfterMs } = result;
      this.dispatch({
        type: 'model_failed',
        error: { code, message: 'The model failed.', retryable },
        retryAfterMs,
      });
    } else if (result.type === 'denied') {
      this.dispatch({ type: 'budget_denied', budget: result.budget, policy: result.policy });
    } else {
      const calls = resolveCalls(this.#snapshot, effect.step, result.calls, this.#callIds);
      for (const call of calls) this.#calls.set(call.id, call);
      const { text, end, tokens } = result;
      this.dispatch({
        type: 'answered',
        settlement: {
          messages: text ? [{ role: 'assistant', content: { text } }] : [],
          events: [],
          calls,
          end,
          outcome: { text },
          endEvents: [],
        },
        stepRow: {
          provider: 'sim',
          model: `model-${effect.modelIndex}`,
          attempt: effect.attempt,
          startedAt: this.#worker.wallClock(),
          firstTokenAt: null,
          finishedAt: this.#worker.wallClock(),
          inputTokens: tokens,
          outputTokens: tokens,
          cost: 0,
          finishReason: 'stop',
          decision: { saw },
        },
      });
    }
  }

  *#execute({ id }: Executing): Course {
    const signal = this.#signal;
    const { random, effects, timeline } = this.#simulation;
    if (!this.#worker.liveness.fresh()) yield* this.#worker.liveness.confirmed();
    if (signal !== this.#signal || this.gone) return;
    const { tool } = this.#calls.get(id)!;
    this.#simulation.note(() => `${this.#where} executes ${id} (${tool})`);
    const execution = effects.begin(this.run.id, id, this.#held, timeline.now);
    yield* this.#worker.sleep(random.between(1, random.pick([10, 100, 2_000])));
    if (tool === 'absorb') yield* this.#absorb();
    const handedOver = tool === 'pass' && (yield* this.#handOver(id));
    if (signal !== this.#signal || this.gone) return;
    if (handedOver) {
      this.#calls.delete(id);
      this.#doing.executing.delete(id);
      this.dispatch({ type: 'tool_handed_over', id });
      return;
    }
    const finished: FinishedCall = random.chance(0.85)
      ? { id, status: 'completed', output: { execution } }
      : { id, status: 'failed', error: { code: 'tool_error', message: 'It did not work.' } };
    this.#calls.delete(id);
    this.#doing.executing.delete(id);
    this.dispatch({ type: 'tool_finished', call: finished });
  }

  /** The tool makes somebody else settle its call, in a transaction of its own. */
  *#handOver(call: string): Course<boolean> {
    const { store, random } = this.#simulation;
    const by = { run: this.run.id, worker: this.#worker.incarnation, epoch: this.run.epoch };
    const how = { waitsFor: 'task' as const, deadlineMs: random.int(500, 8_000) };
    const done = yield* this.#untilAnswered('hand over', () => store.handOver(by, call, how));
    this.#simulation.count(`hand-over:${done}`);
    // Somebody may settle it at once.
    if (done) yield* this.#worker.sleep(random.between(1, random.pick([1, 50, 1_000])));
    return done;
  }

  *#absorb(): Course {
    const { store, random } = this.#simulation;
    const { id, epoch } = this.run;
    const target = random.pick([...store.runs.keys()]);
    try {
      const by = { run: id, worker: this.#worker.incarnation, epoch };
      const absorbed = yield* this.#worker.ask('absorb', () => store.absorb(target, by));
      this.#simulation.count(`absorb:${absorbed.ok ? 'ok' : absorbed.code}`);
      if (absorbed.ok) this.#simulation.hint({ runs: [target], queued: true });
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    }
  }

  *#commit(commit: Commit): Course {
    const { random, rules } = this.#simulation;
    const item = toItem(this.#held, commit, this.#simulation.newId);
    if (commit.name === 'retry' && item.delayMs)
      item.delayMs = Math.round(item.delayMs * (1 + random.next() / 4));
    const poisoned = random.chance(this.#simulation.network.weather.poison);
    this.#simulation.count(`commit:${commit.name}`);
    this.#simulation.note(
      () =>
        `${this.#where} commits ${commit.name}${item.target ? ` → ${item.target}` : ''} v${item.version}${poisoned ? ' (poisoned)' : ''}`,
    );
    this.committing = true;
    let verdict: Committed;
    try {
      verdict = yield* this.#send(item, poisoned);
      if (!verdict.ok) {
        const mode = rules.doneBefore(item, verdict);
        if (mode !== null) {
          this.#simulation.count(`done-before:${mode}`);
          const now = yield* this.#untilAnswered('resync', () =>
            this.#simulation.store.resync(item.run, item.known),
          );
          verdict = rules.lostVerdict(item, verdict, mode, now);
        }
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost || error instanceof Poisoned)) throw error;
      this.#committed();
      this.dispatch({
        type: 'commit_failed',
        error: {
          code: 'commit_failed',
          message: `${error.constructor.name.toLowerCase()} ${error.message}`,
          retryable: true,
        },
      });
      return;
    }
    this.#committed();
    if (!verdict.ok || (this.doubted && verdict.mode === 'go')) {
      this.dispatch({ type: 'lost' });
      return;
    }
    remember(this.#held, item, verdict);
    this.#promoted = verdict.promoted ?? false;
    for (const call of verdict.ready ?? []) this.#calls.set(call.id, call);
    this.#simulation.count(`mode:${verdict.mode}`);
    const { mode, openCalls, ready } = verdict;
    this.dispatch({ type: 'committed', mode, openCalls, ready: ready === undefined ? null : (ready ?? []) });
  }

  #committed(): void {
    this.committing = false;
    this.#doing.committing = false;
  }

  /** Sends until there is an answer: whether a broken call was carried out is not known, and the fence makes it safe. */
  *#send(item: CommitItem, poisoned: boolean): Course<Committed> {
    const { store, invariants } = this.#simulation;
    return yield* this.#untilAnswered(this.#moment(item), () => {
      if (poisoned) throw new Poisoned('item');
      const verdict = store.commit(item);
      this.#simulation.note(
        () =>
          `  commit ${this.#simulation.short(item.run)} v${item.version}: ${verdict.ok ? verdict.mode : `refused (${verdict.status} e${verdict.epoch} v${verdict.version})`}`,
      );
      if (verdict.ok) invariants.committed(item.run, item.worker, item.epoch);
      else this.#simulation.count('refused');
      return verdict;
    });
  }

  /** What kind of commit it is, for those who like to disturb. */
  #moment(item: CommitItem): string {
    if (item.begun?.length || item.calls?.some(({ status }) => status === 'running')) return 'commit:begins';
    return this.#state.executing.length > 0 ? 'commit:busy' : 'commit';
  }

  *#untilAnswered<Answer>(name: string, call: () => Answer): Course<Answer> {
    for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
      try {
        return yield* this.#worker.ask(name, call);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        yield* this.#worker.sleep(pause);
      }
    }
  }
}

/** Decisions are pure: what they were given is not theirs to change. */
function frozen(state: RunState): RunState {
  Object.freeze(state.executing);
  Object.freeze(state.finished);
  Object.freeze(state.starting);
  return Object.freeze(state);
}

function detail(input: RunInput): string {
  switch (input.type) {
    case 'claimed':
      return ` e${input.epoch} calls ${input.calls.map((call) => `${call.id}:${call.status}`).join(' ')}`;
    case 'answered':
      return ` ${input.settlement.calls.map((call) => `${call.id}=${call.tool}`).join(' ') || (input.settlement.end ? 'end' : 'not yet')}`;
    case 'committed':
      return ` ${input.mode} open ${input.openCalls ?? '?'} ready ${input.ready?.map((call) => call.id).join(' ') ?? '?'}`;
    case 'tool_handed_over':
      return ` ${input.id}`;
    case 'tool_finished':
      return ` ${input.call.id} ${input.call.status}`;
    default:
      return '';
  }
}
