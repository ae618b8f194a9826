import type { AgentSnapshot, Json, RunError, SnapshotModel } from '@troupe/protocol';
import { type Logger, messageOf, newId } from '../base/index.ts';
import {
  type CallChange,
  type ClaimedRun,
  type CommitItem,
  type Committed,
  isConnectionError,
  isNotOpen,
  type Resync,
  type StepRow,
  type StoredCall,
} from '../store/index.ts';
import { act } from './act.ts';
import type { Budgets } from './budget.ts';
import { CallIds } from './call-ids.ts';
import { decide, initialState } from './decide.ts';
import type { Door, LivePiece, Meaning, RunView } from './door.ts';
import { withCalledWith } from './edited.ts';
import { doneBefore, type Held, lostVerdict, remember, toItem } from './fence.ts';
import { lastSteer } from './heard.ts';
import { toolCalls } from './meters.ts';
import type { ModelDelta, Models, Tools } from './ports.ts';
import type { Probe } from './probe.ts';
import { resolveCalls } from './resolve.ts';
import type { StandingBudgets } from './standing-budgets.ts';
import type { Commit, Executing, RunEffect, RunInput, RunState, Settlement } from './state.ts';
import type { Telemetry } from './telemetry.ts';
import { failureOf, think } from './think.ts';

export interface LoopDependencies {
  incarnation: string;
  doors: Record<string, Door>;
  models: Models;
  tools: Tools;
  budgets: Budgets;
  standing: StandingBudgets;
  commit(item: CommitItem): Promise<Committed>;
  resync(run: string, known: number): Promise<Resync>;
  /** Whether this worker is known to be alive: nothing that others could see is begun without it. */
  lease: { fresh(): boolean; confirmed(): Promise<void> };
  probe: Probe | undefined;
  onDelta: ((run: ClaimedRun, step: number, delta: ModelDelta) => void) | undefined;
  /** Something is being said in another thread. `thought` is greater each time that a model is asked. */
  onLive?: ((run: ClaimedRun, step: number, thought: number, piece: LivePiece) => void) | undefined;
  /** What these calls were about to say elsewhere is said, or never will be; null: of all calls. */
  onSaid?: ((run: ClaimedRun, calls: string[] | null) => void) | undefined;
  /** Something of the run is on disk. */
  onCommitted?: ((run: ClaimedRun, threads: string[]) => void) | undefined;
  telemetry?: Telemetry | undefined;
  logger: Logger;
}

export interface Ended {
  status: 'completed' | 'failed' | 'canceled';
  outcome: Json;
  error: RunError | null;
}

export type GoneHow = 'ended' | 'parked' | 'released' | 'lost';

const LONGEST_TIMER_MS = 2_147_483_647;

/** Carries out what `decide` decides for one run that this worker holds. Nothing is read twice: the transcript stays in memory. */
export class RunLoop {
  readonly run: ClaimedRun;
  readonly #snapshot: AgentSnapshot;
  readonly #door: Door;
  readonly #dependencies: LoopDependencies;
  readonly #onGone: (how: GoneHow, ended: Ended | null, promoted: boolean) => void;
  readonly #held: Held;
  readonly #calls = new Map<string, { id: string; tool: string; args: Json }>();
  /** What a person changed the arguments of a call to. */
  readonly #edited = new Map<string, Json>();
  readonly #callIds = new Set<string>();
  /** Calls that another thread shows. */
  readonly #shown = new Set<string>();
  /** The tool of each call, for doors that tell other threads how calls end. */
  readonly #toolOf = new Map<string, string>();
  #state: RunState;
  #abort = new AbortController();
  #wallTimer: NodeJS.Timeout | undefined;
  #spend: ((committed: boolean) => void) | null = null;
  #ended: Ended | null = null;
  #promoted = false;
  /** How often a model was asked. */
  #thoughts = 0;
  committing = false;
  /** The run was seen to be another's while a commit was under way: an answer that lets it go on is out of date. */
  doubted = false;
  gone = false;

  constructor(
    run: ClaimedRun,
    snapshot: AgentSnapshot,
    door: Door,
    dependencies: LoopDependencies,
    onGone: (how: GoneHow, ended: Ended | null, promoted: boolean) => void,
  ) {
    this.run = run;
    this.#snapshot = snapshot;
    this.#door = door;
    this.#dependencies = dependencies;
    this.#onGone = onGone;
    this.#held = {
      run: run.id,
      worker: dependencies.incarnation,
      epoch: run.epoch,
      thread: run.threadId,
      version: run.version,
      known: run.lastSeq,
      steers: run.steers,
      transcript: run.messages,
    };
    // A fork has calls in its history that are not in its ledger; their ids are taken all the same.
    for (const { role, runId, callId } of run.messages) {
      if (role === 'tool_call' && runId === run.id && callId !== null) this.#callIds.add(callId);
    }
    for (const call of run.calls) {
      this.#callIds.add(call.id);
      if (call.status === 'requested' || call.status === 'running') this.#take(call);
    }
    this.#state = initialState(
      {
        limits: this.#limits(),
        models: this.#models().length,
        inDoubt: snapshot.inDoubt,
        ...(door.failEvents ? { failEvents: door.failEvents } : {}),
        ...(door.cancelEvents ? { cancelEvents: door.cancelEvents } : {}),
      },
      { ...run, toolCalls: run.calls.length, tokens: run.inputTokens + run.outputTokens },
    );
  }

  #limits(): AgentSnapshot['limits'] {
    const { limits } = this.#snapshot;
    const extra = this.#door.extraSteps?.({ run: this.run, transcript: this.#held.transcript }) ?? 0;
    return extra === 0 ? limits : { ...limits, steps: limits.steps + extra };
  }

  start(): void {
    const { run } = this;
    this.#armWallTimer(run.remainingMs);
    this.dispatch({
      type: 'claimed',
      calls: run.calls,
      epoch: run.epoch,
      openCalls: run.openCalls,
      takeovers: run.takeovers,
      remainingMs: run.remainingMs,
    });
  }

  #armWallTimer(ms: number): void {
    // A timer cannot run for longer than 24.8 days.
    this.#wallTimer =
      ms > LONGEST_TIMER_MS
        ? setTimeout(() => this.#armWallTimer(ms - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
        : setTimeout(() => this.dispatch({ type: 'wall_time_over' }), Math.max(ms, 1));
  }

  dispatch(input: RunInput): void {
    const [state, effects] = decide(this.#state, input);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: RunEffect): void {
    switch (effect.type) {
      case 'think':
        void this.#think(effect);
        break;
      case 'execute':
        void this.#execute(effect.call);
        break;
      case 'commit':
        void this.#commit(effect.commit);
        break;
      case 'abort':
        this.#abort.abort(new Error(effect.reason));
        this.#abort = new AbortController();
        break;
      case 'gone':
        this.#leave(effect.how);
        break;
    }
  }

  #leave(how: GoneHow): void {
    this.gone = true;
    clearTimeout(this.#wallTimer);
    // A commit under way may still turn out to be written; its answer says whether the step was paid for.
    if (!this.committing) this.#spend?.(false);
    this.#onGone(how, this.#ended, this.#promoted);
  }

  /** Those that may take the next step. */
  #models(): readonly SnapshotModel[] {
    const view = { run: this.run, snapshot: this.#snapshot, transcript: this.#held.transcript };
    return this.#door.models?.(view) ?? this.#snapshot.models;
  }

  #view({ step, modelIndex }: { step: number; modelIndex: number }): RunView {
    const models = this.#models();
    const model = models[Math.min(modelIndex, models.length - 1)]!;
    const { incarnation: worker } = this.#dependencies;
    return {
      run: this.run,
      worker,
      snapshot: this.#snapshot,
      transcript: this.#held.transcript,
      step,
      model,
    };
  }

  async #think(effect: RunEffect & { type: 'think' }): Promise<void> {
    const { signal } = this.#abort;
    const { lease, onDelta, onSaid, telemetry } = this.#dependencies;
    if (!lease.fresh()) await lease.confirmed();
    if (signal.aborted || this.gone) return;
    const view = this.#view(effect);
    const callIds = new CallIds(effect.step, this.#callIds);
    // Whatever was asked for before has its result by now.
    if (this.#thoughts > 0 && this.#door.live) onSaid?.(this.run, null);
    const thought = ++this.#thoughts;
    const elsewhere = this.#door.live ? this.#elsewhere(view, thought) : null;
    // A model that was given up, or has answered, may go on talking: nobody listens.
    let listening = true;
    const result = await think({
      models: this.#dependencies.models,
      budgets: this.#dependencies.budgets,
      standing: this.#dependencies.standing,
      door: this.#door,
      view,
      attempt: effect.attempt,
      signal,
      callIds,
      onCalled:
        telemetry &&
        ((called) =>
          telemetry.modelCalled(this.run, {
            ...called,
            step: effect.step,
            attempt: effect.attempt,
            thought,
          })),
      onDelta: (written) => {
        if (!listening || signal.aborted || this.gone) return;
        // Models come from anywhere, and say anything.
        const isInput = written?.type === 'tool_input' && typeof written.callId === 'string';
        const delta = isInput ? { ...written, callId: callIds.of(written.callId) } : written;
        onDelta?.(this.run, effect.step, delta);
        if (typeof delta?.text === 'string') elsewhere?.(delta);
      },
    });
    listening = false;
    if (signal.aborted || this.gone) {
      // Whatever came back belongs to a call that was given up.
      if ('thought' in result) result.thought.spend(false);
      return;
    }
    const ofStep = this.#door.models ? { models: this.#models().length } : {};
    if ('failed' in result) {
      const { retryAfterMs, ...error } = result.failed;
      const instead = this.#recovered(view, effect, error);
      this.dispatch({
        type: 'model_failed',
        error,
        retryAfterMs,
        ...ofStep,
        ...(instead ? { instead } : {}),
      });
    } else if ('denied' in result) {
      this.dispatch({ type: 'budget_denied', ...result.denied, ...ofStep });
    } else {
      const { thought: made } = result;
      let settlement: Settlement;
      try {
        const asked = made.meaning.calls ?? made.answer.calls;
        settlement = { ...this.#settlement(effect.step, made.meaning, asked), ...made.kept };
      } catch (error) {
        made.spend(false);
        const { retryAfterMs, ...failure } = failureOf(error);
        this.dispatch({ type: 'model_failed', error: failure, retryAfterMs, ...ofStep });
        return;
      }
      this.#spend = made.spend;
      this.dispatch({ type: 'answered', settlement, stepRow: made.stepRow });
    }
  }

  /** The door's replacement for the answer, if every model failed. */
  #recovered(view: RunView, { step, attempt }: RunEffect & { type: 'think' }, error: RunError) {
    const meaning = this.#door.recover?.(view, error);
    if (!meaning) return null;
    const now = Date.now();
    const { provider, model } = view.model;
    const { handsOver: _, ...kept } = meaning.step ?? {};
    const stepRow: StepRow = {
      ...{ provider, model, attempt, startedAt: now, firstTokenAt: null, finishedAt: now },
      ...{ inputTokens: 0, outputTokens: 0, cost: 0, finishReason: 'error', budgeted: false, ...kept },
    };
    return { settlement: this.#settlement(step, meaning, meaning.calls ?? []), stepRow };
  }

  /** Tells what the door has others see elsewhere. A door that stumbles over a piece is asked no more: the answer comes all the same. */
  #elsewhere(view: RunView, thought: number): (delta: ModelDelta) => void {
    let told: ReturnType<NonNullable<Door['live']>> | null = null;
    const tell = (delta: ModelDelta) => {
      try {
        told ??= this.#door.live!(view);
        for (const piece of told(delta)) this.#dependencies.onLive?.(this.run, view.step, thought, piece);
      } catch (error) {
        stumbled = true;
        this.#dependencies.logger.error({ run: this.run.id, error: messageOf(error) }, 'live text failed');
      }
    };
    let stumbled = false;
    return (delta) => {
      if (!stumbled) tell(delta);
    };
  }

  /** Threads beside its own whose readers want to know of the run. */
  get threads(): string[] {
    return this.#door.threads?.({ run: this.run, transcript: this.#held.transcript }) ?? [];
  }

  #settlement(step: number, meaning: Meaning, asked: Parameters<typeof resolveCalls>[2]): Settlement {
    const calls = resolveCalls(this.#snapshot, step, asked, this.#callIds);
    for (const call of calls) {
      this.#calls.set(call.id, call);
      this.#note(call);
    }
    // Nothing is committed while a model is asked, so the transcript is as it was then.
    const heard = lastSteer(this.#held.transcript, this.run.id);
    return {
      messages: meaning.messages,
      ...(heard === null ? {} : { heard }),
      events: meaning.events ?? [],
      calls,
      end: meaning.end ?? true,
      ...(meaning.fail ? { fail: meaning.fail } : {}),
      outcome: meaning.outcome ?? null,
      endEvents: meaning.endEvents ?? [],
      ...(meaning.step?.handsOver ? { handsOver: true } : {}),
      ...(meaning.places ? { places: meaning.places } : {}),
    };
  }

  async #execute(executing: Executing): Promise<void> {
    const { signal } = this.#abort;
    const { lease, tools, telemetry } = this.#dependencies;
    if (!lease.fresh()) await lease.confirmed();
    if (signal.aborted || this.gone) return;
    const { run } = this;
    const call = this.#calls.get(executing.id)!;
    const [startedAt, step] = [Date.now(), this.#state.step];
    const finished = await act(tools, this.#snapshot, call, {
      projectId: run.projectId,
      runId: run.id,
      threadId: run.threadId,
      agentId: run.agentId,
      entityId: run.entityId,
      epoch: run.epoch,
      worker: this.#dependencies.incarnation,
      step,
      attempt: executing.attempt,
      signal,
    });
    if ('status' in finished) {
      const error = signal.aborted ? 'given_up' : finished.error?.code;
      const done = { startedAt, finishedAt: Date.now(), ...(error === undefined ? {} : { error }) };
      telemetry?.toolCalled(run, {
        step,
        call: call.id,
        tool: call.tool,
        attempt: executing.attempt,
        ...done,
      });
    }
    if (signal.aborted || this.gone) return;
    this.#calls.delete(executing.id);
    if (this.#door.live) this.#dependencies.onSaid?.(this.run, [executing.id]);
    if ('status' in finished) this.dispatch({ type: 'tool_finished', call: finished });
    else this.dispatch({ type: 'tool_handed_over', id: executing.id });
  }

  async #commit(commit: Commit): Promise<void> {
    const { probe } = this.#dependencies;
    const { name } = commit;
    const messages = withCalledWith(commit.messages ?? [], this.#edited);
    const item = toItem(this.#held, { ...commit, messages }, newId);
    if (this.#isTold(item)) item.tell = true;
    if (name === 'retry' && item.delayMs) item.delayMs = Math.round(item.delayMs * (1 + Math.random() / 4));
    this.committing = true;
    let verdict: Committed;
    try {
      if (probe) await probe(name, 'before', [this.run.id]);
      verdict = await this.#dependencies.commit(item);
      if (probe) await probe(name, 'after', [this.run.id]);
      if (!verdict.ok) verdict = await this.#ifDoneBefore(item, verdict);
    } catch (error) {
      // The process ends while the database is away: whether it was written is for the next worker to see. A call that was
      // handed over although its tool says that it failed: whoever takes the run next finds out how it stands.
      if (isConnectionError(error) || isNotOpen(error)) {
        this.#committed(false);
        this.dispatch({ type: 'lost' });
        return;
      }
      this.#dependencies.logger.error(
        { run: this.run.id, commit: name, error: messageOf(error) },
        'commit failed',
      );
      this.#committed(false);
      this.dispatch({
        type: 'commit_failed',
        error: {
          code: 'commit_failed',
          message: `The database would not take a commit of this run: ${messageOf(error)}`,
          retryable: true,
        },
      });
      return;
    }
    this.#committed(verdict.ok);
    if (!verdict.ok || (this.doubted && verdict.mode === 'go')) {
      this.dispatch({ type: 'lost' });
      return;
    }
    this.#remember(item, verdict);
    if (this.#door.extraSteps) {
      this.#state = { ...this.#state, facts: { ...this.#state.facts, limits: this.#limits() } };
    }
    this.#dependencies.onCommitted?.(this.run, this.threads);
    this.dispatch({
      type: 'committed',
      mode: verdict.mode,
      openCalls: verdict.openCalls,
      ready: verdict.ready === undefined ? null : (verdict.ready ?? []),
    });
  }

  #committed(ok: boolean): void {
    this.committing = false;
    this.#spend?.(ok);
    this.#spend = null;
  }

  #remember(item: CommitItem, verdict: Committed & { ok: true }): void {
    remember(this.#held, item, verdict);
    for (const call of verdict.ready ?? []) this.#take(call);
    for (const { status } of item.settled ?? []) toolCalls.add(1, status);
    for (const { status } of item.calls ?? []) if (status === 'failed') toolCalls.add(1, status);
    if (item.stepRow) {
      this.run.inputTokens += item.stepRow.inputTokens;
      this.run.outputTokens += item.stepRow.outputTokens;
    }
    this.#promoted = verdict.promoted ?? false;
    if (verdict.mode === 'ended') {
      this.#ended = {
        status: item.target as Ended['status'],
        outcome: item.outcome ?? null,
        error: item.error ?? null,
      };
    }
  }

  #take(call: StoredCall): void {
    this.#calls.set(call.id, call);
    this.#note(call);
    if (call.edited) this.#edited.set(call.id, call.args);
  }

  #note(call: { id: string; tool: string; shown?: unknown }): void {
    if (call.shown) this.#shown.add(call.id);
    if (this.#door.tells) this.#toolOf.set(call.id, call.tool);
  }

  /** Whether the threads that watch the run are told of a call in this commit. */
  #isTold({ calls, settled, begun }: CommitItem): boolean {
    const { tells } = this.#door;
    if (this.#shown.size === 0 && !tells) return false;
    const told = ({ id, status, output }: CallChange) =>
      this.#shown.has(id) || tells?.({ tool: this.#toolOf.get(id) ?? '', status, output: output ?? null });
    return Boolean(
      settled?.some(told) ||
        begun?.some(told) ||
        calls?.some(({ tool, status, shown }) => shown || tells?.({ tool, status, output: null })),
    );
  }

  async #ifDoneBefore(item: CommitItem, refusal: Committed & { ok: false }): Promise<Committed> {
    const mode = doneBefore(item, refusal);
    if (mode === null) return refusal;
    return lostVerdict(item, refusal, mode, await this.#dependencies.resync(this.run.id, item.known));
  }
}
