import type { Span, Timeline } from '@troupe/protocol';
import {
  type Database,
  type RunTimes,
  readRunTimes,
  type TimedCall,
  type TimedEvent,
  type TimedStep,
} from '../store/index.ts';

const MOST_SPANS = 5_000;
const MOST_CHILDREN = 500;

/** Where the time of a run went; null where there is no such run any more. */
export async function readTimeline(db: Database, run: string, thread: string): Promise<Timeline | null> {
  const most = { most: MOST_SPANS + 1, mostChildren: MOST_CHILDREN + 1 };
  const times = await readRunTimes(db, run, thread, most);
  if (!times) return null;
  const { run: row, children } = times;
  const spans = spansOf(times);
  const cut = [spans, times.steps, times.calls, times.events].some((list) => list.length > MOST_SPANS);
  return {
    runId: run,
    status: row.status,
    startedAt: row.createdAt.toISOString(),
    endedAt: row.endedAt?.toISOString() ?? null,
    spans: spans.slice(0, MOST_SPANS),
    children: children.slice(0, MOST_CHILDREN).map((child) => ({
      ...child,
      createdAt: child.createdAt.toISOString(),
      startedAt: child.startedAt?.toISOString() ?? null,
      endedAt: child.endedAt?.toISOString() ?? null,
    })),
    cut: cut || children.length > MOST_CHILDREN,
    now: row.now.toISOString(),
  };
}

interface Stretch extends Pick<Span, 'kind' | 'name' | 'status'>, Partial<Omit<Span, Given>> {
  startedAt: Date;
  firstTokenAt?: Date | null;
  endedAt: Date | null;
}
type Given = 'kind' | 'name' | 'status' | 'startedAt' | 'firstTokenAt' | 'endedAt';

/** Without clock and database. */
export function spansOf(times: RunTimes): Span[] {
  const stretches = [...walked(times), ...times.steps.map(ofStep), ...times.calls.flatMap(ofCall(times))];
  return stretches
    .map(
      ({ startedAt, firstTokenAt = null, endedAt, ...rest }): Span => ({
        ...NOTHING,
        ...rest,
        startedAt: startedAt.toISOString(),
        firstTokenAt: firstTokenAt?.toISOString() ?? null,
        endedAt: endedAt?.toISOString() ?? null,
      }),
    )
    .sort((one, two) => Date.parse(one.startedAt) - Date.parse(two.startedAt));
}

const NOTHING = {
  step: null,
  callId: null,
  runId: null,
  taskId: null,
  attempt: null,
  worker: null,
  waitsFor: null,
  agentKey: null,
  error: null,
};

function ofStep({
  step,
  model,
  agentKey,
  worker,
  attempt,
  startedAt,
  firstTokenAt,
  finishedAt,
}: TimedStep): Stretch {
  return {
    ...{ kind: 'model', name: model, status: 'completed', step, agentKey, worker, attempt },
    ...{ startedAt, firstTokenAt, endedAt: finishedAt },
  };
}

/** What the log tells: the queue, tries of the model that failed, takeovers, waits that are no call's, and what goes on now. */
function walked({ run, steps, events }: RunTimes): Stretch[] {
  const stretches: Stretch[] = [];
  const answered = new Set(steps.map(({ step }) => step));
  /** Since when it has been in the queue, and since when it waits for a budget. */
  let queued: { at: Date; name: string } | null = { at: run.createdAt, name: 'start' };
  let waits: Date | null = null;
  let thinks: { at: Date; step: number } | null = null;
  let last: TimedEvent | null = null;
  const leaveQueue = (at: Date, status: Span['status']) => {
    if (queued)
      stretches.push({ kind: 'queue', name: queued.name, status, startedAt: queued.at, endedAt: at });
    queued = null;
  };
  const leaveWait = (at: Date, status: Span['status']) => {
    if (waits)
      stretches.push({
        kind: 'wait',
        name: 'budget',
        waitsFor: 'budget',
        status,
        startedAt: waits,
        endedAt: at,
      });
    waits = null;
  };
  for (const event of events) {
    const { type, at, data, step } = event;
    if (type === 'run.queued') {
      leaveWait(at, 'completed');
      if (last)
        queued ??= {
          at,
          name: data?.retry === true ? 'retry' : data?.settled === true ? 'settled' : 'start',
        };
      thinks = null;
    } else if (type === 'run.started' || type === 'run.resumed') {
      leaveWait(at, 'completed');
      if (queued) leaveQueue(at, 'completed');
      else if (last) stretches.push(leftAlone(last.at, at, run.takeovers > 0));
      thinks = null;
    } else if (type === 'step.started') {
      thinks = { at, step: step! };
    } else if (type === 'step.error') {
      const attempt = typeof data?.attempt === 'number' ? data.attempt : null;
      const error = { code: String(data?.code ?? 'model_error'), message: String(data?.message ?? '') };
      stretches.push({
        ...{ kind: 'attempt', name: 'model', status: 'failed', step, attempt, error },
        ...{ startedAt: thinks?.at ?? last?.at ?? at, endedAt: at },
      });
      thinks = data?.fallbackTo === undefined ? null : { at, step: step! };
      if (data?.retryInMs !== undefined) queued = { at, name: 'try again' };
    } else if (type === 'run.waiting_tool' && data?.budget !== undefined) {
      waits = at;
      thinks = null;
    } else if (
      type === 'run.completed' ||
      type === 'run.failed' ||
      type === 'run.canceled' ||
      type === 'run.absorbed'
    ) {
      const how = type === 'run.completed' ? 'completed' : type === 'run.failed' ? 'failed' : 'canceled';
      leaveQueue(at, how);
      leaveWait(at, how);
      if (thinks && !answered.has(thinks.step)) stretches.push(thought(thinks, how, at));
      thinks = null;
    }
    last = event;
  }
  if (run.endedAt === null) {
    if (queued && run.status === 'queued')
      stretches.push({
        kind: 'queue',
        name: queued.name,
        status: 'running',
        startedAt: queued.at,
        endedAt: null,
      });
    if (waits && run.status === 'waiting_tool')
      stretches.push({
        kind: 'wait',
        name: 'budget',
        waitsFor: 'budget',
        status: 'running',
        startedAt: waits,
        endedAt: null,
      });
    if (thinks && run.status === 'running' && !answered.has(thinks.step))
      stretches.push({ ...thought(thinks, 'running', null), worker: run.workerId });
  }
  return stretches;
}

/** Nobody had it: its worker was gone, or had handed it back since its process stops. The log tells only who came then. */
function leftAlone(startedAt: Date, endedAt: Date, isTakeover: boolean): Stretch {
  const what = isTakeover
    ? { kind: 'takeover' as const, name: 'takeover' }
    : { kind: 'queue' as const, name: 'handed back' };
  return { ...what, status: 'completed', startedAt, endedAt };
}

function thought(
  { at, step }: { at: Date; step: number },
  status: Span['status'],
  endedAt: Date | null,
): Stretch {
  return { kind: 'model', name: 'model', status, step, startedAt: at, endedAt };
}

/** A call that was let through was waited for first, and executed then. */
function ofCall({ run, steps, events, children }: RunTimes): (call: TimedCall) => Stretch[] {
  const workers = new Map(steps.map((step) => [step.step, step]));
  const waiting = new Map<string, TimedEvent>();
  const approved = new Map<string, Date>();
  for (const event of events) {
    const id = event.data?.id;
    if (typeof id !== 'string') continue;
    if (event.type === 'tool.waiting') waiting.set(id, event);
    if (event.type === 'tool.approved') approved.set(id, event.at);
  }
  const begun = new Map(children.map((child) => [child.callId, child]));
  return ({ id, step, tool, status, attempt, error, createdAt, settledAt }) => {
    const ofStep = workers.get(step);
    const child = begun.get(id);
    const isOpen = status === 'requested' || status === 'running';
    const base = {
      ...{
        name: tool,
        step,
        callId: id,
        attempt,
        worker: ofStep?.worker ?? null,
        agentKey: ofStep?.agentKey ?? null,
      },
      status: isOpen ? ('running' as const) : status,
      error: isOpen ? null : error,
      startedAt: createdAt,
      // What a run that has ended left open goes on no longer.
      endedAt: settledAt ?? run.endedAt,
    };
    if (child) return [{ ...base, kind: 'task', runId: child.runId, taskId: child.taskId }];
    const wait = waiting.get(id);
    if (!wait) return [{ ...base, kind: 'tool' }];
    const waitsFor = typeof wait.data?.waitsFor === 'string' ? wait.data.waitsFor : null;
    const through = approved.get(id);
    if (!through) return [{ ...base, kind: 'wait', worker: null, waitsFor }];
    const waited = {
      kind: 'wait' as const,
      worker: null,
      waitsFor,
      status: 'completed' as const,
      error: null,
    };
    return [
      { ...base, ...waited, endedAt: through },
      { ...base, kind: 'tool', startedAt: through },
    ];
  };
}
