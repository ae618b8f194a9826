import type { Api } from '@troupe/sdk';
import type { TimelineSpan } from '@troupe/ui';
import { formatDuration, shortId } from '../../../data/format.ts';

/** A row of the waterfall, with what it was made of. */
export interface TimelineRow extends TimelineSpan {
  span: Api.Span;
  /** The run whose span it is. */
  ownerId: string;
  /** The run that it began. */
  runId: string | null;
}

const words: Record<Api.SpanKind, string> = {
  queue: 'In the queue',
  model: 'Models',
  tool: 'Tools',
  wait: 'Waiting',
  attempt: 'Failed tries',
  takeover: 'Taken over',
  task: 'Tasks',
};

/** The spans of a run, and below those that began a run which is opened, the spans of that. */
export function rowsOf(
  timeline: Api.Timeline,
  nested: ReadonlyMap<string, Api.Timeline>,
  depth = 0,
): TimelineRow[] {
  const told = new Set(timeline.spans.map(({ runId }) => runId));
  // Runs of tasks in the background have no call that waits for them.
  const others = timeline.children
    .filter(({ runId }) => !told.has(runId))
    .map((child): Api.Span => ({ ...blank, ...spanOfChild(child) }));
  const names = new Map(timeline.children.map(({ runId, name }) => [runId, name]));
  const spans = [...timeline.spans, ...others].sort((one, other) =>
    one.startedAt < other.startedAt ? -1 : one.startedAt > other.startedAt ? 1 : 0,
  );
  return spans.flatMap((span, index) => {
    const child = span.runId === null ? undefined : nested.get(span.runId);
    const row: TimelineRow = {
      id: `${depth === 0 ? '' : `${shortId(timeline.runId)}.`}${idOf(span, index)}`,
      kind: span.kind,
      name: nameOf(span, span.runId === null ? null : (names.get(span.runId) ?? null)),
      startedAt: span.startedAt,
      endedAt: span.endedAt,
      status: span.status,
      depth,
      ...(span.step === null ? {} : { step: span.step }),
      facts: factsOf(span),
      span,
      ownerId: timeline.runId,
      runId: span.runId,
    };
    return child && depth < 8 ? [row, ...rowsOf(child, nested, depth + 1)] : [row];
  });
}

const blank: Omit<Api.Span, 'startedAt' | 'status'> = {
  kind: 'task',
  name: '',
  step: null,
  callId: null,
  runId: null,
  taskId: null,
  attempt: null,
  worker: null,
  waitsFor: null,
  agentKey: null,
  firstTokenAt: null,
  endedAt: null,
  error: null,
};

function spanOfChild(
  child: Api.TimelineChild,
): Pick<Api.Span, 'name' | 'callId' | 'runId' | 'taskId' | 'startedAt' | 'endedAt' | 'status'> {
  const ended = (['completed', 'failed', 'canceled'] as const).find((status) => status === child.status);
  return {
    name: child.name ?? 'task',
    callId: child.callId,
    runId: child.runId,
    taskId: child.taskId,
    startedAt: child.startedAt ?? child.createdAt,
    endedAt: child.endedAt,
    status: ended ?? 'running',
  };
}

/** The same for the same span when it is read again, so that what is selected stays so. */
function idOf({ kind, callId, step, attempt }: Api.Span, index: number): string {
  if (callId !== null) return `${kind}-${callId}`;
  if (kind === 'model') return `${kind}-${step}`;
  return `${kind}-${step ?? 0}-${attempt ?? 0}-${index}`;
}

function nameOf({ kind, name, waitsFor, agentKey }: Api.Span, child: string | null): string {
  if (kind === 'queue') return 'In the queue';
  if (kind === 'takeover') return 'Taken over by another worker';
  if (kind === 'wait') return waitsFor ? `${name}: waits for ${waitsFor}` : name;
  if (kind === 'task') return child && child !== name ? `${name}: ${child}` : name;
  return agentKey ? `${agentKey}: ${name}` : name;
}

function factsOf(span: Api.Span): [name: string, value: string][] {
  const facts: [string, string][] = [];
  if (span.firstTokenAt)
    facts.push([
      'First piece after',
      formatDuration(Date.parse(span.firstTokenAt) - Date.parse(span.startedAt)),
    ]);
  if (span.agentKey) facts.push(['Agent', span.agentKey]);
  if (span.attempt !== null) facts.push(['Try', String(span.attempt)]);
  if (span.waitsFor) facts.push(['Waited for', span.waitsFor]);
  if (span.callId) facts.push(['Call', span.callId]);
  if (span.worker) facts.push(['Worker', shortId(span.worker)]);
  return facts;
}

/** The longest first. Calls of one step run side by side: together they may take longer than the run. */
export function timeByKind(rows: TimelineRow[]): [word: string, ms: number][] {
  const sums = new Map<string, number>();
  for (const { depth, kind, span } of rows) {
    if (depth || kind === 'takeover' || span.endedAt === null) continue;
    const ms = Date.parse(span.endedAt) - Date.parse(span.startedAt);
    sums.set(words[kind], (sums.get(words[kind]) ?? 0) + ms);
  }
  return [...sums].sort(([, one], [, other]) => other - one);
}
