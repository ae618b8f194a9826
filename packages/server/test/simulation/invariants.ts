import type { Held } from '../../src/kernel/fence.ts';
import type { RunState } from '../../src/kernel/state.ts';
import type { StepRow, StoredMessage } from '../../src/store/queries/commit.ts';
import type { EffectLog } from './effects.ts';
import type { ModelStore } from './model-store.ts';
import { type CallRecord, isOver, type RunRecord, type ThreadRecord } from './records.ts';

export class Violation extends Error {
  constructor(what: string, facts: Record<string, unknown> = {}) {
    super(Object.keys(facts).length > 0 ? `${what}: ${JSON.stringify(facts)}` : what);
  }
}

/** What a run showed when it was last looked at. */
interface Shadow {
  status: string;
  epoch: number;
  version: number;
  absorbedBy: string | null;
  steps: StepRow[];
  settled: Map<string, { status: string; output: unknown }>;
  closings: number;
}

/** What the logs say of a run, counted. */
interface Entries {
  requests: Map<string, number>;
  results: Map<string, number>;
  closings: number;
}

const CLOSING = new Set(['run.completed', 'run.failed', 'run.canceled', 'run.absorbed']);

/** What must be true after every call of the store, when a model is asked, and when all is quiet. */
export class Invariants {
  readonly #store: ModelStore;
  readonly #effects: EffectLog;
  readonly #shadows = new Map<string, Shadow>();
  readonly #threads = new Map<string, { messages: StoredMessage[]; events: number }>();
  readonly #entries = new Map<string, Entries>();
  readonly #holders = new Map<string, { worker: string; epoch: number }>();

  constructor(store: ModelStore, effects: EffectLog) {
    this.#store = store;
    this.#effects = effects;
  }

  // ---- after every call

  afterCall(): void {
    for (const run of this.#store.touched) {
      const thread = this.#store.threads.get(run.thread)!;
      this.#sequences(thread);
      const entries = this.#entriesOf(run.id);
      this.#row(run);
      this.#history(run, entries);
      this.#calls(run, entries);
      if (run.serial) this.#serial(thread);
      if (run.lane !== null) this.#lane(run);
    }
    this.#store.touched.clear();
  }

  #row(run: RunRecord): void {
    const waits = run.status === 'waiting_tool' || run.status === 'waiting_reply';
    const fails = (what: string): never => {
      throw new Violation(what, {
        run: run.id,
        status: run.status,
        worker: run.worker,
        openCalls: run.openCalls,
      });
    };
    if ((run.status === 'running') !== (run.worker !== null)) fails('held and running are not the same');
    if (waits !== (run.waitDeadline !== null)) fails('a wait without deadline, or a deadline without wait');
    if (waits && !Number.isFinite(run.waitDeadline)) fails('a wait has no end');
    if (waits && run.openCalls === 0 && run.waitState === null) fails('a run waits for nothing');
    if ((run.status === 'canceled') !== (run.cancelReason !== null)) fails('a cancel without reason');
    if (run.status === 'failed' && run.error === null) fails('a failure without error');
    if (run.steps.size !== run.step) fails(`${run.steps.size} steps on disk, ${run.step} counted`);
  }

  /** What was once on disk stays as it was. */
  #history(run: RunRecord, { closings }: Entries): void {
    const shadow = this.#shadows.get(run.id) ?? newShadow();
    this.#shadows.set(run.id, shadow);
    const fails = (what: string, facts: object = {}): never => {
      throw new Violation(what, { run: run.id, ...facts });
    };
    if (run.epoch < shadow.epoch || run.version < shadow.version) fails('the fence went back');
    if (shadow.absorbedBy !== null && run.absorbedBy !== shadow.absorbedBy) fails('a run was absorbed twice');
    shadow.steps.forEach((row, index) => {
      if (run.steps.get(index + 1) !== row) fails(`the committed answer of step ${index + 1} changed`);
    });
    for (let step = shadow.steps.length + 1; run.steps.has(step); step++)
      shadow.steps.push(run.steps.get(step)!);
    for (const call of run.calls.values()) {
      const before = shadow.settled.get(call.id);
      if (before && (before.status !== call.status || before.output !== call.output))
        fails('a settled call changed', { call: call.id, from: before.status, to: call.status });
      if (!before && isSettled(call))
        shadow.settled.set(call.id, { status: call.status, output: call.output });
    }
    if (isOver(run.status) && !isOver(shadow.status as RunRecord['status'])) shadow.closings += 1;
    if (closings !== shadow.closings) fails(`${closings} closing events for ${shadow.closings} ends`);
    if (shadow.status === 'waiting_tool' && run.status === 'queued' && run.openCalls > 0)
      fails('a run was queued while calls are open');
    shadow.status = run.status;
    shadow.epoch = run.epoch;
    shadow.version = run.version;
    shadow.absorbedBy = run.absorbedBy;
  }

  #calls(run: RunRecord, { requests, results }: Entries): void {
    let outside = 0;
    for (const call of run.calls.values()) {
      if (call.waitsFor !== null) outside += 1;
      const settled = isSettled(call);
      const answered = results.get(call.id) ?? 0;
      const fails = (what: string): never => {
        throw new Violation(what, { run: run.id, call: call.id, status: call.status });
      };
      if (requests.get(call.id) !== 1) fails('a call has not exactly one request');
      if (answered !== (settled ? 1 : 0))
        fails(`${settled ? 'a settled' : 'an open'} call has ${answered} results`);
      if (!settled && isOver(run.status)) fails('a call of an ended run is open');
    }
    if (outside !== run.openCalls)
      throw new Violation('open_calls is not the number of calls that wait outside', {
        run: run.id,
        openCalls: run.openCalls,
        outside,
      });
  }

  /** Looks at what is new in a thread: its place, and what it says of which run. */
  #sequences(thread: ThreadRecord): void {
    const { messages, events, lastMessageSeq, lastEventSeq } = thread;
    const seen = this.#threads.get(thread.id) ?? { messages: [], events: 0 };
    this.#threads.set(thread.id, seen);
    if (messages.length !== lastMessageSeq || messages.length < seen.messages.length)
      throw new Violation('messages have a gap or do not reach the counter', { thread: thread.id });
    if (events.length !== lastEventSeq || events.length < seen.events)
      throw new Violation('events have a gap or do not reach the counter', { thread: thread.id });
    for (let i = seen.messages.length; i < messages.length; i++) {
      const message = messages[i]!;
      if (message.seq !== i + 1)
        throw new Violation('messages have a gap', { thread: thread.id, seq: i + 1 });
      seen.messages.push(message);
      if (message.runId === null || message.callId === null) continue;
      const { requests, results } = this.#entriesOf(message.runId);
      countUp(message.role === 'tool_call' ? requests : results, message.callId);
    }
    for (; seen.events < events.length; seen.events++) {
      const { seq, run, type } = events[seen.events]!;
      if (seq !== seen.events + 1) throw new Violation('events have a gap', { thread: thread.id, seq });
      if (run !== null && CLOSING.has(type)) this.#entriesOf(run).closings += 1;
    }
  }

  #entriesOf(run: string): Entries {
    const entries = this.#entries.get(run) ?? { requests: new Map(), results: new Map(), closings: 0 };
    this.#entries.set(run, entries);
    return entries;
  }

  #serial(thread: ThreadRecord): void {
    const serial = [...this.#store.runs.values()].filter((run) => run.serial && run.thread === thread.id);
    const atWork = serial.filter((run) => run.ready && !isOver(run.status));
    if (atWork.length > 1)
      throw new Violation('two serial runs of a thread are at work', { runs: atWork.map((run) => run.id) });
    if ((atWork[0]?.id ?? null) !== thread.activeRun)
      throw new Violation('the active run of a thread is not the one at work', { thread: thread.id });
    if (thread.activeRun === null && serial.some((run) => !isOver(run.status)))
      throw new Violation('a serial run is blocked by nobody', { thread: thread.id });
  }

  #lane({ lane, laneLimit }: RunRecord): void {
    const atWork = [...this.#store.runs.values()].filter(
      (run) => run.lane === lane && run.status === 'running',
    );
    if (atWork.length > laneLimit!) throw new Violation('a lane is overfull', { lane, runs: atWork.length });
  }

  // ---- on the way

  claimed(worker: string, runs: { id: string; epoch: number }[]): void {
    for (const { id, epoch } of runs) {
      const holder = this.#holders.get(id);
      if (holder && epoch <= holder.epoch)
        throw new Violation('two holders of one epoch', { run: id, epoch });
      this.#holders.set(id, { worker, epoch });
    }
  }

  /** A commit was taken: it must come from whoever claimed the run last. */
  committed(run: string, worker: string, epoch: number): void {
    const holder = this.#holders.get(run);
    if (holder?.worker !== worker || holder.epoch !== epoch)
      throw new Violation('a commit of a former holder was taken', { run, worker, epoch, holder });
  }

  /** The one that settles the last open call queues the run, and nobody else. */
  settled(run: RunRecord, before: string, queued: boolean): void {
    const last = before === 'waiting_tool' && run.openCalls === 0;
    if (queued !== last || (queued && run.status !== 'queued'))
      throw new Violation('the last settler did not queue the run, or another did', {
        run: run.id,
        before,
        queued,
      });
  }

  /**
   * What a model is shown is what is on disk, without a hole but for the triggers of later runs; and every call in it has its result,
   * unless the run was canceled.
   */
  thinks(held: Held): void {
    const { messages } = this.#store.threads.get(held.thread)!;
    const open = new Set<string>();
    const triggers = new Map([...this.#store.runs.values()].map((run) => [run.triggerMessage, run.id]));
    const { triggerSeq } = this.#store.runs.get(held.run)!;
    const isLater = ({ id, seq }: { id: string; seq: number }) =>
      triggers.has(id) && triggers.get(id) !== held.run && seq > (triggerSeq ?? seq);
    let place = 0;
    held.transcript.forEach((message, index) => {
      while (messages[place] && messages[place]!.id !== message.id && isLater(messages[place]!)) place++;
      const stored = messages[place++];
      if (stored?.id !== message.id || stored.seq !== message.seq)
        throw new Violation('the transcript is not what is on disk', {
          run: held.run,
          at: index,
          seq: message.seq,
        });
      if (message.runId !== held.run || message.callId === null) return;
      if (message.role === 'tool_call') open.add(message.callId);
      else open.delete(message.callId);
    });
    const run = this.#store.runs.get(held.run)!;
    if (open.size > 0 && run.worker === held.worker && run.epoch === held.epoch)
      throw new Violation('a model was asked before all results were on disk', {
        run: held.run,
        open: [...open],
      });
  }

  /** A run that a worker holds has something under way that will go on. */
  active(
    run: string,
    { phase, executing }: RunState,
    doing: { thinking: boolean; committing: boolean; executing: ReadonlySet<string> },
  ): void {
    const goesOn =
      phase === 'gone' ||
      (phase === 'thinking' && doing.thinking) ||
      (phase === 'committing' && doing.committing) ||
      (phase === 'acting' && executing.length > 0 && executing.every((id) => doing.executing.has(id)));
    if (!goesOn)
      throw new Violation('a run is held and nothing goes on', {
        run,
        phase,
        executing,
        doing: [...doing.executing],
      });
    if (phase !== 'gone' && phase !== 'thinking' && doing.thinking)
      throw new Violation('a model is asked while something else is under way', { run, phase });
  }

  // ---- when all is quiet

  atEnd(): void {
    for (const run of this.#store.runs.values()) {
      if (!isOver(run.status))
        throw new Violation('an accepted run neither ended nor can end', {
          run: run.id,
          status: run.status,
          worker: run.worker,
          runAt: run.runAt,
          ready: run.ready,
        });
      if (run.status === 'completed') this.#steersSeen(run);
      if (run.error?.code === 'commit_failed' && !run.error.message.includes('poisoned'))
        throw new Violation('a commit was given up without reason', {
          run: run.id,
          error: run.error.message,
        });
      for (const call of run.calls.values()) this.#executed(run, call);
    }
    for (const [id, seen] of this.#threads) {
      const { messages } = this.#store.threads.get(id)!;
      if (seen.messages.some((message, index) => messages[index] !== message))
        throw new Violation('a message changed', { thread: id });
    }
  }

  /** Who speaks to a run at work is heard before it completes. */
  #steersSeen(run: RunRecord): void {
    const saw = Math.max(...[...run.steps.values()].map((row) => (row.decision as { saw: number }).saw));
    const { messages } = this.#store.threads.get(run.thread)!;
    const unseen = messages.filter(
      ({ runId, role, seq }) => runId === run.id && role === 'user' && seq > saw,
    );
    if (unseen.length > 0)
      throw new Violation('a steered message was never seen', {
        run: run.id,
        seqs: unseen.map(({ seq }) => seq),
        saw,
      });
  }

  #executed(run: RunRecord, call: CallRecord): void {
    const times = this.#effects.of(run.id, call.id).length;
    const facts = { run: run.id, call: call.id, effect: call.effect, status: call.status, times };
    if (!isSettled(call)) throw new Violation('a call was never settled', facts);
    if (call.status !== 'completed' && call.status !== 'failed') return;
    if (this.#effects.wasSettled(run.id, call.id) || isRefusal(call)) return;
    if (times === 0) throw new Violation('a result without an effect', facts);
    if (call.status === 'completed') {
      const { execution } = call.output as { execution: number };
      if (!(execution >= 1 && execution <= times)) throw new Violation('a result of no execution', facts);
    }
  }
}

function newShadow(): Shadow {
  return {
    status: 'queued',
    epoch: 0,
    version: 0,
    absorbedBy: null,
    steps: [],
    settled: new Map(),
    closings: 0,
  };
}

function countUp(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function isSettled(call: CallRecord): boolean {
  return call.waitsFor === null && call.status !== 'requested' && call.status !== 'running';
}

const REFUSALS = new Set([
  'unknown_tool',
  'invalid_arguments',
  'too_many_calls',
  'tool_call_limit',
  'tool_unavailable',
]);

function isRefusal(call: CallRecord): boolean {
  return call.error !== null && REFUSALS.has(call.error.code);
}
