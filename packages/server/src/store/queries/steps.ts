import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { type Advanced, type AdvanceItem, advance, type StoredMessage } from './advance.ts';
import { Columns, isUndecided, upTo } from './columns.ts';
import { inTwo } from './in-two.ts';

// The commits that nearly every run makes (troupe.steps, 0005_batches.sql): an answer with its calls, results, the end.

/** Whether a commit fits. Everything else goes through advance. */
function isStep(item: AdvanceItem): boolean {
  const { messages, calls, settled, begun, stepRow, target } = item;
  if (target && (target !== 'completed' || item.close || !stepRow)) return false;
  if (item.park || item.error || item.modelIndex !== undefined || begun?.length) return false;
  if (messages?.some((message) => message.sender || message.metadata)) return false;
  if (calls?.some((call) => call.status !== 'running' || call.waitsFor || call.error || call.shown))
    return false;
  // What spaces see is written in the order of their ids.
  if (settled?.some((call) => call.shown)) return false;
  // An output belongs to a call that has completed, and only to one: the document it goes in has no other way to say "none".
  if (settled?.some((call) => call.waitsFor || (call.status === 'completed') !== (call.output !== undefined)))
    return false;
  if (stepRow?.agentKey || stepRow?.decision !== undefined) return false;
  // An attempt is only ever reset together with a step.
  return (
    (item.step === undefined) === (stepRow === undefined) &&
    (item.step !== undefined || item.attempt === undefined)
  );
}

const STEPS = new Columns(
  'troupe.steps',
  {
    worker: 'uuid',
    count: 'int[]',
    order: 'int[]',
    run: 'uuid[]',
    thread: 'uuid[]',
    epoch: 'int[]',
    version: 'int[]',
    known: 'bigint[]',
    messages: 'int[]',
    events: 'int[]',
    ends: 'boolean[]',
    settledItem: 'int[]',
    settledId: 'text[]',
    settledStatus: 'troupe.call_status[]',
    settledOutput: 'jsonb',
    settledError: 'jsonb',
    messageItem: 'int[]',
    messagePlace: 'int[]',
    messageId: 'uuid[]',
    messageRole: 'troupe.message_role[]',
    messageContent: 'jsonb',
    messageCall: 'text[]',
    messageStep: 'int[]',
    eventItem: 'int[]',
    eventPlace: 'int[]',
    eventType: 'text[]',
    eventData: 'jsonb',
    eventMessage: 'int[]',
    eventStep: 'int[]',
    callItem: 'int[]',
    callPlace: 'int[]',
    callId: 'text[]',
    callTool: 'text[]',
    callArgs: 'jsonb',
    callEffect: 'troupe.tool_effect[]',
    step: 'int[]',
    input: 'bigint[]',
    output: 'bigint[]',
    cost: 'bigint[]',
    provider: 'text[]',
    model: 'text[]',
    attempt: 'int[]',
    started: 'float8[]',
    first: 'float8[]',
    finished: 'float8[]',
    finish: 'text[]',
    budgeted: 'boolean[]',
    endItem: 'int[]',
    endSteers: 'int[]',
    endOutcome: 'jsonb[]',
  },
  'verdicts',
);

/** What the database has to say about a commit: the seq before its first message, and seldom more. */
type Verdict =
  | number
  | { seq: number; promoted?: boolean; foreign?: StoredMessage[]; steers?: number; openCalls?: number };

/**
 * Commits of one worker. Steps go together, the rest goes together; two runs that share a thread go through advance,
 * which takes them one after the other.
 */
export async function commitMany(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  const shared = new Set(items.map((item) => item.thread)).size < items.length;
  const steps = shared ? [] : items.filter(isStep);
  if (steps.length === items.length) return commitSteps(db, items);
  if (steps.length === 0) return advance(db, items);
  const others = items.filter((item) => !steps.includes(item));
  return inTwo(items, [steps, others], [commitSteps(db, steps), advance(db, others)]);
}

async function commitSteps(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  // The order of locks; verdicts come back in it.
  const order = items.map((_, index) => index);
  if (items.length > 1) order.sort((a, b) => (items[a]!.thread < items[b]!.thread ? -1 : 1));
  let rows: { verdicts: Verdict[] }[];
  try {
    rows = await db.run({
      name: 'steps',
      text: STEPS.text,
      values: valuesOf(order.map((index) => items[index]!)),
    });
  } catch (error) {
    if (!isUndecided(error)) throw error;
    return advance(db, items);
  }
  const verdicts: Advanced[] = [];
  order.forEach((index, place) => {
    verdicts[index] = advancedOf(items[index]!, rows[0]!.verdicts[place]!);
  });
  return verdicts;
}

function advancedOf(item: AdvanceItem, verdict: Verdict): Advanced {
  const mode = item.target ? 'ended' : 'go';
  const version = item.version + 1;
  return typeof verdict === 'number'
    ? { ok: true, mode, seq: verdict, version }
    : { ok: true, mode, version, ...verdict };
}

/** An element of a list that is sent as one document: nothing is null there. */
const document = (value: unknown): string => (value === undefined ? 'null' : toJsonText(value));
const json = (value: unknown): string | null => (value === undefined ? null : toJsonText(value));

function valuesOf(items: AdvanceItem[]): unknown[] {
  const columns = STEPS.empty();
  for (let index = 0; index < items.length; index++) addItem(columns, items[index]!, index + 1);
  const lists = [columns.run, columns.settledId, columns.messageId, columns.eventType, columns.callId];
  columns.count = upTo(Math.max(...lists.map((list) => list.length)));
  // The order of locks of runs and their heads.
  const byRun = upTo(items.length);
  if (items.length > 1) byRun.sort((a, b) => (items[a - 1]!.run < items[b - 1]!.run ? -1 : 1));
  columns.order = byRun;
  for (const number of byRun) {
    const item = items[number - 1]!;
    if (!item.target) continue;
    columns.endItem.push(number);
    columns.endSteers.push(item.steers);
    columns.endOutcome.push(json(item.outcome));
  }
  return STEPS.values(items[0]!.worker, columns);
}

function addItem(columns: ReturnType<typeof STEPS.empty>, item: AdvanceItem, number: number): void {
  columns.run.push(item.run);
  columns.thread.push(item.thread);
  columns.epoch.push(item.epoch);
  columns.version.push(item.version);
  columns.known.push(item.known);
  columns.messages.push(item.messages?.length ?? 0);
  columns.ends.push(item.target ? true : null);

  let place = 0;
  for (const message of item.messages ?? []) {
    columns.messageItem.push(number);
    columns.messagePlace.push(++place);
    columns.messageId.push(message.id);
    columns.messageRole.push(message.role);
    columns.messageContent.push(json(message.content));
    columns.messageCall.push(message.callId ?? null);
    columns.messageStep.push(message.step ?? null);
  }
  place = 0;
  for (const list of [item.events, item.target ? item.targetEvents : item.goEvents]) {
    for (const event of list ?? []) {
      columns.eventItem.push(number);
      columns.eventPlace.push(++place);
      columns.eventType.push(event.type);
      columns.eventData.push(document(event.data));
      columns.eventMessage.push(event.message === undefined ? null : event.message + 1);
      columns.eventStep.push(event.step ?? null);
    }
  }
  columns.events.push(place);
  for (const call of item.settled ?? []) {
    columns.settledItem.push(number);
    columns.settledId.push(call.id);
    columns.settledStatus.push(call.status);
    columns.settledOutput.push(document(call.output));
    columns.settledError.push(document(call.error));
  }
  place = 0;
  for (const call of item.calls ?? []) {
    columns.callItem.push(number);
    columns.callPlace.push(++place);
    columns.callId.push(call.id);
    columns.callTool.push(call.tool);
    columns.callArgs.push(json(call.args));
    columns.callEffect.push(call.effect);
  }

  const { stepRow } = item;
  columns.step.push(item.step ?? null);
  columns.input.push(stepRow?.inputTokens ?? 0);
  columns.output.push(stepRow?.outputTokens ?? 0);
  columns.cost.push(stepRow?.cost ?? 0);
  columns.provider.push(stepRow?.provider ?? null);
  columns.model.push(stepRow?.model ?? null);
  columns.attempt.push(stepRow?.attempt ?? null);
  columns.started.push(stepRow?.startedAt ?? null);
  columns.first.push(stepRow?.firstTokenAt ?? null);
  columns.finished.push(stepRow?.finishedAt ?? null);
  columns.finish.push(stepRow?.finishReason ?? null);
  columns.budgeted.push(stepRow ? (stepRow.budgeted ?? false) : null);
}
