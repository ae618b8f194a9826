import { isDeepStrictEqual } from 'node:util';
import type { CancelReason, JsonObject, WaitsFor } from '@troupe/protocol';
import type { StartItem } from '../../src/index.ts';
import type { ClaimedRun, Resync } from '../../src/store/queries/claim.ts';
import type {
  CallError,
  CommitItem,
  Committed,
  NewEvent,
  NewMessage,
  StoredMessage,
} from '../../src/store/queries/commit.ts';
import type {
  Absorbed,
  Canceled,
  Expired,
  Retried,
  Settled,
  SettleOutcome,
} from '../../src/store/queries/outside.ts';
import type { Posted, Started } from '../../src/store/queries/start.ts';
import { CANCEL_EVENTS } from './agents.ts';
import {
  type CallRecord,
  emptyThread,
  isOpen,
  isOver,
  isReady,
  newRun,
  type PostItem,
  type RunRecord,
  storedCall,
  type ThreadRecord,
  toClaimed,
} from './records.ts';

// Long because it is one idea: every function of store/migrations once more, in memory and to be read beside the SQL. The
// conformance test holds the two to each other.

// The functions of store/functions/kernel, without the database: every method is
// one atomic call. conformance.test.ts holds the two to each other. Long, but in the order of those files and read beside them.

/** Something that the database would refuse with an error: a constraint, or a `raise`. */
export class Refused extends Error {}

export class ModelStore {
  readonly runs = new Map<string, RunRecord>();
  readonly threads = new Map<string, ThreadRecord>();
  /** Heartbeats, by incarnation. */
  readonly workers = new Map<string, number>();
  /** Incarnations whose advisory lock is held. */
  readonly locks = new Set<string>();
  /** What the last call changed; whoever looks at it empties it. */
  readonly touched = new Set<RunRecord>();
  /** The database's clock; it may jump. */
  readonly now: () => number;
  readonly #newId: () => string;
  readonly #messageSeqs = new Map<string, { thread: ThreadRecord; seq: number }>();

  constructor(now: () => number, newId: () => string) {
    this.now = now;
    this.#newId = newId;
  }

  // ---- how runs begin

  start(item: StartItem): Started {
    const made = item.createThread !== undefined && !this.threads.has(item.thread);
    if (made) this.threads.set(item.thread, emptyThread(item.thread));
    const thread = this.threads.get(item.thread);
    if (!thread) return { ok: false, code: 'thread_not_found' };
    const { message, run } = item;
    const known = message && this.#messageSeqs.get(message.id);
    if (known && known.thread !== thread) {
      if (made) this.threads.delete(item.thread);
      const before = made ? (this.runs.get(run?.id ?? '') ?? this.#startedBy(run?.entity, message.id)) : null;
      if (!before) return { ok: false, code: 'message_id_taken' };
      return { ok: true, run: before.id, thread: before.thread, seq: known.seq, duplicate: true };
    }
    const seq = message ? (known?.seq ?? thread.lastMessageSeq + 1) : null;
    let ready = true;
    if (run) {
      const existing = this.runs.get(run.id) ?? this.#startedBy(run.entity, message?.id);
      if (existing) return { ok: true, run: existing.id, thread: thread.id, seq, duplicate: true };
      ready = !run.serial || thread.activeRun === null;
      if (run.serial && ready) thread.activeRun = run.id;
      this.runs.set(run.id, newRun(run, thread.id, message?.id ?? null, seq, ready, this.now()));
      this.touched.add(this.runs.get(run.id)!);
    }
    const fresh = message && !known;
    this.append(thread, run?.id ?? null, fresh ? [{ ...message, run: null }] : [], [
      ...(fresh ? [{ type: 'message.created', message: 0 }] : []),
      ...(run ? [{ type: 'run.queued' }] : []),
    ]);
    const started = { ok: true as const, run: run?.id ?? null, thread: thread.id, seq, ready };
    if (!run || !item.claim || !ready || run.lane || run.delayMs)
      return { ...started, duplicate: !run && !fresh };
    // Whoever starts it has a place for it: it is taken in the same breath.
    const record = this.runs.get(run.id)!;
    this.take(record, item.claim.worker);
    this.#begin(record, item.claim.events);
    return { ...started, duplicate: false, claimed: [...thread.messages], lastSeq: thread.lastMessageSeq };
  }

  /** A message to a serial thread that may be busy. */
  post(item: PostItem): Posted {
    const thread = this.threads.get(item.thread);
    const known = this.#messageSeqs.get(item.message.id);
    if (known && known.thread !== thread) return { ok: false, code: 'message_id_taken' };
    if (known) {
      const run = known.thread.messages[known.seq - 1]!.runId;
      return { ok: true, outcome: 'duplicate', thread: item.thread, seq: known.seq, run };
    }
    const active = item.policy === 'queue' ? null : thread?.activeRun;
    if (!active) return { ...this.start(item), outcome: 'started' } as Posted;
    const run = this.runs.get(active)!;
    if (item.policy === 'reject') return { ok: false, code: 'busy', run: active };
    if (item.policy === 'steer') {
      const seq = 1 + this.append(thread!, active, [item.message], [{ type: 'message.created', message: 0 }]);
      run.steers += 1;
      this.touched.add(run);
      return { ok: true, outcome: 'steered', thread: item.thread, seq, run: active };
    }
    this.endRun(run, 'superseded', null, 'run.canceled');
    return { ...this.start(item), outcome: 'interrupted', canceled: active } as Posted;
  }

  #startedBy(entity: string | undefined, message: string | undefined): RunRecord | undefined {
    if (entity === undefined || message === undefined) return undefined;
    return [...this.runs.values()].find((run) => run.entity === entity && run.triggerMessage === message);
  }

  // ---- how they are taken

  claim(worker: string, limit: number): ClaimedRun[] {
    const due = [...this.runs.values()]
      .filter((run) => run.status === 'queued' && run.ready && run.runAt <= this.now())
      .sort((a, b) => a.runAt - b.runAt || (a.id < b.id ? -1 : 1));
    const taken: RunRecord[] = [];
    for (const run of [...due.filter(({ lane }) => !lane), ...due.filter(({ lane }) => lane)]) {
      if (taken.length >= limit || !this.laneHasPlace(run)) continue;
      this.take(run, worker);
      taken.push(run);
    }
    taken.sort((a, b) => (a.thread < b.thread || (a.thread === b.thread && a.id < b.id) ? -1 : 1));
    return taken.map((run) => this.#begin(run));
  }

  #begin(run: RunRecord, startEvents: string[] = []): ClaimedRun {
    const first = run.startedAt === null;
    run.startedAt ??= this.now();
    run.deadlineAt ??= this.now() + run.wallMs;
    const acting = [...run.calls.values()].some(
      ({ status }) => status === 'running' || status === 'requested',
    );
    this.append(
      this.threads.get(run.thread)!,
      run.id,
      [],
      [
        { type: first ? 'run.started' : 'run.resumed' },
        ...(first ? startEvents.map((type) => ({ type })) : []),
        ...(acting ? [] : [{ type: 'step.started' }]),
      ],
    );
    const thread = this.threads.get(run.thread)!;
    const waiting = new Set(
      [...this.runs.values()]
        .filter((other) => other.thread === run.thread && other.status === 'queued' && !other.ready)
        .map(({ triggerSeq }) => triggerSeq),
    );
    const isLater = ({ seq }: StoredMessage) => seq > (run.triggerSeq ?? seq) && waiting.has(seq);
    return toClaimed(run, thread, this.now(), (message) => !isLater(message));
  }

  /** Without the triggers of other runs. */
  #heardBy(run: RunRecord, messages: StoredMessage[]): StoredMessage[] {
    return messages.filter(
      ({ id, runId }) => runId !== null || !this.#startedBy(run.entity ?? undefined, id),
    );
  }

  protected laneHasPlace({ lane, laneLimit }: RunRecord): boolean {
    if (lane === null) return true;
    const atWork = [...this.runs.values()].filter((run) => run.lane === lane && run.status === 'running');
    return atWork.length < laneLimit!;
  }

  protected take(run: RunRecord, worker: string): void {
    run.status = 'running';
    run.epoch += 1;
    run.version += 1;
    run.worker = worker;
    run.waitState = null;
    this.touched.add(run);
  }

  // ---- what their worker writes

  commit(item: CommitItem): Committed {
    const run = this.runs.get(item.run);
    if (!run) return { ok: false, status: 'missing' };
    if (this.refuses(run, item)) {
      const { status, epoch, version, step, worker } = run;
      return { ok: false, status, epoch, version, step, worker };
    }
    const changes = [...(item.settled ?? []), ...(item.begun ?? [])];
    const outside = [...(item.calls ?? []), ...changes].filter(({ waitsFor }) => waitsFor).length;
    const mode = this.mode(run, item, outside);
    const thread = this.threads.get(run.thread)!;
    this.touched.add(run);

    for (const change of changes) {
      const call = run.calls.get(change.id);
      if (!call || !['requested', 'running', 'in_doubt'].includes(call.status))
        throw new Refused(`a call to be written was not open: ${change.id} is ${call?.status}`);
      call.status = change.status;
      call.output = change.output ?? null;
      call.error = change.error ?? null;
      if (item.begun?.includes(change) || change.waitsFor) call.epoch = item.epoch;
      call.attempt += change.again ?? 0;
      call.waitsFor = change.waitsFor ?? null;
      call.deadline = change.deadlineMs === undefined ? null : this.now() + change.deadlineMs;
    }
    if (mode === 'ended' && item.close) this.closeCalls(run, 'canceled', null);

    const only = mode === 'go' ? item.goEvents : mode === 'parked' ? item.parkEvents : item.targetEvents;
    const seq = this.append(thread, run.id, item.messages ?? [], [...(item.events ?? []), ...(only ?? [])]);
    for (const [index, call] of (item.calls ?? []).entries()) {
      if (run.calls.has(call.id)) throw new Refused(`call ${call.id} is there already`);
      run.calls.set(call.id, {
        id: call.id,
        step: item.step!,
        position: index + 1,
        tool: call.tool,
        args: call.args,
        edited: false,
        effect: call.effect,
        status: call.status,
        waitsFor: call.waitsFor ?? null,
        output: null,
        error: call.error ?? null,
        attempt: 1,
        epoch: item.epoch,
        shown: false,
        deadline: call.deadlineMs === undefined ? null : this.now() + call.deadlineMs,
        settledBy: null,
      });
    }
    if (item.stepRow) {
      if (run.steps.has(item.step!)) throw new Refused(`step ${item.step} is there already`);
      run.steps.set(item.step!, Object.freeze({ ...item.stepRow }));
      run.inputTokens += item.stepRow.inputTokens;
      run.outputTokens += item.stepRow.outputTokens;
      run.cost += item.stepRow.cost;
    }

    run.version += 1;
    if (item.step !== undefined) {
      run.step = item.step;
      run.takeovers = 0;
    }
    run.attempt = item.attempt ?? run.attempt;
    run.modelIndex = item.modelIndex ?? run.modelIndex;
    run.openCalls = mode === 'ended' ? 0 : run.openCalls + outside;
    if (item.error) run.error = item.error;
    else if (mode === 'ended') run.error = null;
    const promoted = mode !== 'go' && this.#leave(run, mode, item);

    const ready = [...run.calls.values()].filter(isReady).map(storedCall);
    // A commit that just goes on reads nothing but its fence.
    const looked = item.target || item.park || outside > 0 || item.modelIndex !== undefined || item.error;
    return {
      ok: true,
      mode,
      seq,
      version: run.version,
      ...(looked || seq > item.known ? { steers: run.steers, openCalls: run.openCalls } : {}),
      ...(seq > item.known ? { foreign: this.#heardBy(run, thread.messages.slice(item.known, seq)) } : {}),
      ...(promoted ? { promoted } : {}),
      ...(mode === 'go' && item.park ? { ready: ready.length > 0 ? ready : null } : {}),
    };
  }

  protected refuses(run: RunRecord, item: CommitItem): boolean {
    return (
      run.status !== 'running' ||
      run.epoch !== item.epoch ||
      run.worker !== item.worker ||
      run.version !== item.version
    );
  }

  protected mode(run: RunRecord, item: CommitItem, outside: number): (Committed & { ok: true })['mode'] {
    if (item.target === 'completed' && run.steers > item.steers) return 'go';
    if (item.target === 'queued') return 'released';
    if (item.target === 'waiting_tool') return 'parked';
    if (item.target) return 'ended';
    return item.park && run.openCalls + outside > 0 ? 'parked' : 'go';
  }

  /** Answers whether the next run of a serial thread was let in. */
  #leave(run: RunRecord, mode: 'parked' | 'ended' | 'released', item: CommitItem): boolean {
    run.status = mode === 'parked' ? 'waiting_tool' : item.target!;
    run.worker = null;
    if (mode === 'released') run.runAt = this.now() + (item.delayMs ?? 0);
    run.waitState = mode === 'parked' ? (item.waitState ?? null) : null;
    if (mode === 'parked') {
      const delayed = item.delayMs === undefined ? Number.POSITIVE_INFINITY : this.now() + item.delayMs;
      run.waitDeadline = Math.min(delayed, this.#firstDeadline(run));
    }
    if (mode === 'ended') {
      run.outcome = item.outcome ?? null;
      run.cancelReason = (item.cancelReason as CancelReason | undefined) ?? null;
    }
    return mode === 'ended' && run.serial && this.promote(run);
  }

  #firstDeadline(run: RunRecord): number {
    const waiting = [...run.calls.values()].filter((call) => call.waitsFor !== null);
    return Math.min(run.deadlineAt ?? Number.POSITIVE_INFINITY, ...waiting.map((call) => call.deadline!));
  }

  /** Where a run stands; for a worker that lost the answer to its own commit. */
  resync(id: string, known: number): Resync {
    const run = this.runs.get(id)!;
    return {
      messages: this.#heardBy(run, this.threads.get(run.thread)!.messages.slice(known)),
      openCalls: run.openCalls,
      steers: run.steers,
      ready: [...run.calls.values()].filter(isReady).map(storedCall),
    };
  }

  /** A call that the worker executes becomes one that somebody else settles. */
  handOver(
    by: { run: string; worker: string; epoch: number },
    callId: string,
    { waitsFor, deadlineMs }: { waitsFor: WaitsFor; deadlineMs: number },
  ): boolean {
    const run = this.runs.get(by.run)!;
    if (run.status !== 'running' || run.epoch !== by.epoch || run.worker !== by.worker) return false;
    const call = run.calls.get(callId)!;
    // It was handed over before, and may be settled by now.
    if (call.status !== 'running') return true;
    call.status = 'requested';
    call.waitsFor = waitsFor;
    call.deadline = this.now() + deadlineMs;
    run.openCalls += 1;
    this.touched.add(run);
    return true;
  }

  // ---- what others do to them

  /** Ends a waiting call, or (proceed) lets a worker execute it. Brings open_calls to zero = queues the run. */
  settle(id: string, callId: string, outcome: SettleOutcome, by: string | null, message: string): Settled {
    const run = this.runs.get(id);
    if (!run) return { ok: false, code: 'run_not_found' };
    const call = run.calls.get(callId);
    if (!call) return { ok: false, code: 'call_not_found' };
    if (call.waitsFor === null || isOver(run.status)) {
      const { status, output, error, settledBy } = call;
      return { ok: false, code: 'call_not_open', status, output, error, settledBy };
    }
    // Nobody has swept it yet, and it is too late all the same.
    if (call.deadline !== null && call.deadline <= this.now()) {
      const error = { code: 'expired', message: 'Nobody settled this call before its deadline.' };
      return { ok: false, code: 'call_not_open', status: 'expired', output: null, error, settledBy: null };
    }
    const thread = this.threads.get(run.thread)!;
    this.touched.add(run);
    call.waitsFor = null;
    call.deadline = null;
    call.settledBy = by;
    if (outcome.status === 'proceed') {
      // A call in doubt was tried before.
      if (call.status === 'in_doubt') call.attempt += 1;
      call.status = 'requested';
      call.error = null;
      if (outcome.args !== undefined) {
        call.edited ||= !isDeepStrictEqual(call.args, outcome.args);
        call.args = outcome.args;
      }
      this.append(thread, id, [], [{ type: 'tool.approved', step: call.step }]);
    } else {
      call.status = outcome.status;
      call.output = outcome.status === 'completed' ? outcome.output : null;
      call.error = outcome.status === 'failed' ? outcome.error : null;
      this.#appendResult(run, call, message);
    }
    const queued = this.settled(run);
    return { ok: true, queued, status: run.status, openCalls: run.openCalls, thread: run.thread };
  }

  /** One call fewer is open; answers whether that queued the run. */
  protected settled(run: RunRecord): boolean {
    run.openCalls -= 1;
    if (run.status !== 'waiting_tool') return false;
    if (run.openCalls > 0) run.waitDeadline = this.#firstDeadline(run);
    else this.#queue(run);
    return run.openCalls === 0;
  }

  #queue(run: RunRecord): void {
    run.status = 'queued';
    run.runAt = this.now();
    run.waitState = null;
    run.waitDeadline = null;
    this.append(this.threads.get(run.thread)!, run.id, [], [{ type: 'run.queued' }]);
  }

  expire(limit: number): Expired {
    const due = [...this.runs.values()]
      .filter((run) => run.status === 'waiting_tool' && run.waitDeadline! <= this.now())
      .sort((a, b) => a.waitDeadline! - b.waitDeadline!)
      .slice(0, limit)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    if (due.length === 0) return { runs: 0 };
    let expired = 0;
    let canceled = 0;
    let queued = 0;
    for (const run of due) {
      this.touched.add(run);
      if (run.deadlineAt! <= this.now()) {
        this.endRun(run, 'timeout', null, 'run.canceled');
        canceled += 1;
        continue;
      }
      for (const call of run.calls.values()) {
        if (call.waitsFor === null || call.deadline! > this.now()) continue;
        call.status = 'expired';
        call.waitsFor = null;
        call.deadline = null;
        call.error = { code: 'expired', message: 'Nobody settled this call before its deadline.' };
        this.#appendResult(run, call, this.#newId());
        expired += 1;
      }
      run.openCalls = [...run.calls.values()].filter((call) => call.waitsFor !== null).length;
      if (run.openCalls === 0) {
        this.#queue(run);
        queued += 1;
      } else run.waitDeadline = this.#firstDeadline(run);
    }
    return { runs: due.length, expired, canceled, queued };
  }

  cancel(id: string, reason: CancelReason, by: string | null): Canceled {
    const run = this.runs.get(id);
    if (!run) return { ok: false, code: 'run_not_found' };
    if (isOver(run.status))
      return { ok: false, code: 'run_ended', status: run.status, reason: run.cancelReason };
    const { worker } = run;
    this.endRun(run, reason, by, 'run.canceled');
    return { ok: true, status: 'canceled', worker, thread: run.thread };
  }

  absorb(targetId: string, by: { run: string; worker: string; epoch: number }): Absorbed {
    if (targetId === by.run) return { ok: false, code: 'cannot_absorb_itself' };
    const target = this.runs.get(targetId);
    const absorber = this.runs.get(by.run);
    if (absorber?.status !== 'running' || absorber.epoch !== by.epoch || absorber.worker !== by.worker)
      return { ok: false, code: 'absorber_lost' };
    if (!target) return { ok: false, code: 'run_not_found' };
    if (target.entity !== absorber.entity) return { ok: false, code: 'not_your_run' };
    if (this.absorbedByAnother(target, by.run))
      return { ok: false, code: 'already_absorbed', by: target.absorbedBy! };
    const { status, worker, thread } = target;
    if (target.absorbedBy === null && isOver(status)) return { ok: false, code: 'run_ended', status };
    if (target.absorbedBy !== by.run) {
      this.endRun(target, 'absorbed', null, 'run.absorbed');
      target.absorbedBy = by.run;
    }
    const actions = [...target.calls.values()].map(storedCall);
    return { ok: true, run: targetId, status, worker, thread, trigger: {}, actions };
  }

  protected absorbedByAnother(target: RunRecord, by: string): boolean {
    return target.absorbedBy !== null && target.absorbedBy !== by;
  }

  /** A failed or canceled run goes on from where it stood. */
  retry(id: string): Retried {
    const run = this.runs.get(id);
    if (!run) return { ok: false, code: 'run_not_found' };
    if ((run.status !== 'failed' && run.status !== 'canceled') || run.cancelReason === 'absorbed')
      return { ok: false, code: 'run_not_retryable', status: run.status, reason: run.cancelReason };
    const thread = this.threads.get(run.thread)!;
    run.status = 'queued';
    run.ready = !run.serial || thread.activeRun === null;
    run.runAt = this.now();
    run.attempt = 0;
    run.modelIndex = 0;
    run.takeovers = 0;
    run.error = null;
    run.outcome = null;
    run.cancelReason = null;
    run.deadlineAt = null;
    if (run.serial && run.ready) thread.activeRun = id;
    this.touched.add(run);
    this.append(thread, id, [], [{ type: 'run.queued' }]);
    return { ok: true, run: id, thread: thread.id, ready: run.ready };
  }

  /** Lets the runs go on that wait for a budget. */
  raiseBudget(budget: string): string[] {
    const waiting = [...this.runs.values()].filter(
      (run) => run.status === 'waiting_tool' && run.openCalls === 0 && run.waitState?.budget === budget,
    );
    for (const run of waiting) {
      this.#queue(run);
      this.touched.add(run);
    }
    return waiting.map((run) => run.id);
  }

  // ---- workers

  beat(incarnation: string, count: number): { incarnation: string; beat: number }[] {
    this.workers.set(incarnation, count);
    return [...this.workers]
      .filter(([other]) => other !== incarnation)
      .map(([other, beat]) => ({ incarnation: other, beat }));
  }

  heldBy(incarnation: string): { id: string; epoch: number }[] {
    return [...this.runs.values()]
      .filter((run) => run.worker === incarnation)
      .map(({ id, epoch }) => ({ id, epoch }));
  }

  rowlessHolders(): string[] {
    const holders = [...this.runs.values()].map((run) => run.worker).filter((worker) => worker !== null);
    return [...new Set(holders)].filter((worker) => !this.workers.has(worker));
  }

  lockHolders(incarnations: string[]): Set<string> {
    return new Set(incarnations.filter((incarnation) => this.locks.has(incarnation)));
  }

  /** Puts the runs of a dead worker back into the queue. Null where it turns out to live. */
  reap(incarnation: string, seenBeat: number | null, hung: boolean): number | null {
    if (!hung && this.locks.has(incarnation)) return null;
    if ((this.workers.get(incarnation) ?? null) !== seenBeat) return null;
    this.workers.delete(incarnation);
    const held = this.heldBy(incarnation);
    for (const { id } of held) this.#giveBack(this.runs.get(id)!).takeovers += 1;
    return held.length;
  }

  /** Runs that were claimed for this worker but never reached it. */
  disown(incarnation: string, runs: { id: string; epoch: number }[]): void {
    for (const { id, epoch } of runs) {
      const run = this.runs.get(id)!;
      if (run.worker === incarnation && run.epoch === epoch) this.#giveBack(run);
    }
  }

  #giveBack(run: RunRecord): RunRecord {
    run.status = 'queued';
    run.worker = null;
    run.runAt = this.now();
    this.touched.add(run);
    return run;
  }

  forgetWorker(incarnation: string): void {
    this.workers.delete(incarnation);
  }

  /** Postgres went away: no session is left; after a crash the table of heartbeats, which is not logged, is empty. */
  restart(crashed: boolean): void {
    this.locks.clear();
    if (crashed) this.workers.clear();
  }

  // ---- pieces

  /** Puts messages and events at the end of a thread. Answers the seq before the first message. */
  protected append(
    thread: ThreadRecord,
    run: string | null,
    messages: (Omit<NewMessage, 'id'> & { id?: string; run?: null })[],
    events: NewEvent[],
  ): number {
    const base = thread.lastMessageSeq;
    for (const message of messages) {
      const id = message.id ?? this.#newId();
      if (this.#messageSeqs.has(id)) throw new Refused(`message ${id} is there already`);
      const seq = ++thread.lastMessageSeq;
      this.#messageSeqs.set(id, { thread, seq });
      thread.messages.push(
        Object.freeze({
          id,
          seq,
          role: message.role,
          content: message.content,
          callId: message.callId ?? null,
          sender: message.sender ?? null,
          runId: message.run === null ? null : run,
          step: message.step ?? null,
          metadata: message.metadata ?? null,
        }),
      );
    }
    for (const event of events) {
      const seq = ++thread.lastEventSeq;
      const messageSeq = event.message === undefined ? null : base + 1 + event.message;
      thread.events.push({ seq, type: event.type, run, messageSeq });
    }
    return base;
  }

  #appendResult(run: RunRecord, call: CallRecord, id: string): void {
    const content = { result: call.output, error: call.error as CallError & JsonObject };
    this.append(
      this.threads.get(run.thread)!,
      run.id,
      [{ id, role: 'tool_result', callId: call.id, step: call.step, content }],
      [
        { type: 'message.created', message: 0 },
        {
          type: call.status === 'completed' ? 'tool.completed' : 'tool.failed',
          message: 0,
        },
      ],
    );
  }

  /** Ends every open call; each gets its result, so that the history stays readable. */
  protected closeCalls(run: RunRecord, status: 'canceled', by: string | null): void {
    for (const call of run.calls.values()) {
      if (!isOpen(call)) continue;
      call.status = status;
      call.error = { code: 'canceled', message: 'The run ended before this call did.' };
      call.waitsFor = null;
      call.deadline = null;
      call.settledBy = by;
      this.#appendResult(run, call, this.#newId());
    }
  }

  protected endRun(run: RunRecord, reason: CancelReason, by: string | null, event: string): void {
    this.closeCalls(run, 'canceled', by);
    run.status = 'canceled';
    run.cancelReason = reason;
    run.epoch += 1;
    // Who was never claimed has no fence yet.
    if (run.startedAt !== null) run.version += 1;
    run.worker = null;
    run.openCalls = 0;
    run.waitState = null;
    run.waitDeadline = null;
    this.touched.add(run);
    const thread = this.threads.get(run.thread)!;
    const endsTurn = reason !== 'superseded' && (!run.serial || (thread.activeRun ?? run.id) === run.id);
    const told = endsTurn ? [...CANCEL_EVENTS, event] : [event];
    this.append(
      thread,
      run.id,
      [],
      told.map((type) => ({ type })),
    );
    if (run.serial) this.promote(run);
  }

  /** Ends a serial run's turn in its thread and lets the next one in; true where there was one. */
  protected promote(ended: RunRecord): boolean {
    const thread = this.threads.get(ended.thread)!;
    if (thread.activeRun !== null && thread.activeRun !== ended.id) return false;
    const next = [...this.runs.values()]
      .filter((run) => run.thread === thread.id && run.status === 'queued' && !run.ready)
      .sort((a, b) => a.triggerSeq! - b.triggerSeq! || (a.id < b.id ? -1 : 1))[0];
    thread.activeRun = next?.id ?? null;
    if (!next) return false;
    next.ready = true;
    next.runAt = Math.max(next.runAt, this.now());
    this.touched.add(next);
    return true;
  }
}
