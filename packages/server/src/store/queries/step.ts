import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { type Advanced, type AdvanceItem, advance, type NewEvent } from './advance.ts';
import { arrayLiteral } from './array.ts';

// The commit that nearly every step makes (0005_step.sql): one answer with one call, or one result, and the run goes on.

/** Whether a commit fits. Everything else goes through advance. */
function isStep(item: AdvanceItem): boolean {
  const { messages, events, goEvents, calls, settled, begun, stepRow } = item;
  const told = (events?.length ?? 0) + (goEvents?.length ?? 0);
  if (item.target || item.park || item.error || item.modelIndex !== undefined || begun?.length) return false;
  if ((messages?.length ?? 0) > 2 || told > 3 || (calls?.length ?? 0) > 1 || (settled?.length ?? 0) > 1)
    return false;
  if (messages?.some((message) => message.sender || message.metadata)) return false;
  if (calls?.[0] && (calls[0].status !== 'running' || calls[0].waitsFor || calls[0].error)) return false;
  if (settled?.[0]?.waitsFor || stepRow?.agentKey || stepRow?.decision !== undefined) return false;
  // An attempt is only ever reset together with a step.
  return (
    (item.step === undefined) === (stepRow === undefined) &&
    (item.step !== undefined || item.attempt === undefined)
  );
}

const TYPES = [
  ...['uuid', 'uuid', 'uuid', 'int', 'int', 'bigint', 'int', 'bigint', 'bigint', 'bigint'],
  ...['text', 'troupe.call_status', 'jsonb', 'jsonb'],
  ...['int', 'int'],
  ...['uuid', 'troupe.message_role', 'jsonb', 'text'],
  ...['uuid', 'troupe.message_role', 'jsonb', 'text'],
  'int',
  ...['text', 'jsonb', 'int', 'int'],
  ...['text', 'jsonb', 'int', 'int'],
  ...['text', 'jsonb', 'int', 'int'],
  ...['text', 'text', 'jsonb', 'troupe.tool_effect'],
  ...['text', 'text', 'int', 'float8', 'float8', 'float8', 'text', 'boolean'],
];
const QUOTED = TYPES.map((type) => type === 'text' || type === 'jsonb');
const ONE = `select troupe.step(${TYPES.map((type, i) => `$${i + 1}::${type}`).join(', ')}) as verdict`;
const MANY = `select troupe.step(${TYPES.map((_, i) => `x.a${i}`).join(', ')}) as verdict
  from unnest(${TYPES.map((type, i) => `$${i + 1}::${type}[]`).join(', ')}) as x(${TYPES.map((_, i) => `a${i}`).join(', ')})`;

/**
 * Commits of one worker. Steps go together, the rest goes together; two runs that share a thread go through advance,
 * which locks all heads before it locks a thread.
 */
export async function commitMany(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  const shared = new Set(items.map((item) => item.thread)).size < items.length;
  const steps = shared ? [] : items.filter(isStep);
  if (steps.length === items.length) return stepMany(db, items);
  if (steps.length === 0) return advance(db, items);
  const others = items.filter((item) => !steps.includes(item));
  const [stepped, advanced] = await Promise.all([stepMany(db, steps), advance(db, others)]);
  return items.map((item) => {
    const place = steps.indexOf(item);
    return place >= 0 ? stepped[place]! : advanced[others.indexOf(item)]!;
  });
}

async function stepMany(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  if (items.length === 1) {
    const rows = await db.run<{ verdict: Advanced | number }>({
      name: 'step',
      text: ONE,
      values: valuesOf(items[0]!),
    });
    return [verdictOf(rows[0]!.verdict, items[0]!)];
  }
  // The order of locks.
  const order = items.map((_, index) => index).sort((a, b) => (items[a]!.thread < items[b]!.thread ? -1 : 1));
  const columns: unknown[][] = TYPES.map(() => []);
  for (const index of order) {
    const values = valuesOf(items[index]!);
    for (let i = 0; i < values.length; i++) columns[i]!.push(values[i]);
  }
  const rows = await db.run<{ verdict: Advanced | number }>({
    name: 'step_many',
    text: MANY,
    values: columns.map((column, i) => arrayLiteral(column, QUOTED[i]!)),
  });
  const verdicts: Advanced[] = [];
  order.forEach((index, place) => {
    verdicts[index] = verdictOf(rows[place]!.verdict, items[index]!);
  });
  return verdicts;
}

function verdictOf(verdict: Advanced | number, item: AdvanceItem): Advanced {
  return typeof verdict === 'number'
    ? { ok: true, mode: 'go', seq: verdict, version: item.version + 1 }
    : verdict;
}

const json = (value: unknown): string | null => (value === undefined ? null : toJsonText(value));
const NO_EVENT = [null, null, null, null];
const NO_MESSAGE = [null, null, null, null];

function eventOf(event: NewEvent | undefined): unknown[] {
  if (!event) return NO_EVENT;
  return [
    event.type,
    json(event.data),
    event.message === undefined ? null : event.message + 1,
    event.step ?? null,
  ];
}

function valuesOf(item: AdvanceItem): unknown[] {
  const { stepRow } = item;
  const messages = item.messages ?? [];
  const events = item.goEvents ? [...(item.events ?? []), ...item.goEvents] : (item.events ?? []);
  const settled = item.settled?.[0];
  const call = item.calls?.[0];
  const values: unknown[] = [
    item.worker,
    item.run,
    item.thread,
    item.epoch,
    item.version,
    item.known,
    item.step ?? null,
    stepRow?.inputTokens ?? 0,
    stepRow?.outputTokens ?? 0,
    stepRow?.cost ?? 0,
    settled?.id ?? null,
    settled?.status ?? null,
    json(settled?.output),
    json(settled?.error),
    messages.length,
    messages[0]?.step ?? null,
  ];
  for (let i = 0; i < 2; i++) {
    const message = messages[i];
    if (!message) values.push(...NO_MESSAGE);
    else values.push(message.id, message.role, json(message.content), message.callId ?? null);
  }
  values.push(events.length, ...eventOf(events[0]), ...eventOf(events[1]), ...eventOf(events[2]));
  if (call) values.push(call.id, call.tool, json(call.args), call.effect);
  else values.push(null, null, null, null);
  if (stepRow) {
    values.push(
      stepRow.provider,
      stepRow.model,
      stepRow.attempt,
      stepRow.startedAt,
      stepRow.firstTokenAt,
      stepRow.finishedAt,
    );
    values.push(stepRow.finishReason, stepRow.budgeted ?? false);
  } else values.push(null, null, null, null, null, null, null, null);
  return values;
}
