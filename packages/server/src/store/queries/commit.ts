import type {
  Json,
  JsonObject,
  MessageRole,
  RunError,
  ToolCallStatus,
  ToolEffect,
  WaitsFor,
} from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { Columns } from './columns.ts';

// What a worker writes about a run it holds: one item is one commit of one run. functions/kernel/commit.sql writes it.

export interface NewMessage {
  id: string;
  role: MessageRole;
  content: Json;
  callId?: string;
  sender?: string;
  step?: number;
  metadata?: JsonObject;
}

export interface NewEvent {
  type: string;
  data?: JsonObject;
  step?: number;
  /** Index into the item's messages: the event then carries the sequence number of that message. */
  message?: number;
}

export interface NewCall {
  id: string;
  tool: string;
  args: Json;
  effect: ToolEffect;
  status: 'requested' | 'running' | 'failed';
  waitsFor?: WaitsFor;
  deadlineMs?: number;
  error?: CallError;
  /** The thread that shows the call, and what it shows: functions/spaces/show_call.sql. */
  shown?: JsonObject;
}

export interface CallError {
  code: string;
  message: string;
}

export interface CallChange {
  id: string;
  status: ToolCallStatus;
  output?: Json;
  error?: CallError;
  waitsFor?: WaitsFor;
  deadlineMs?: number;
  /** 1 if a running call is tried once more. */
  again?: number;
  by?: string;
}

export interface StepRow {
  provider: string;
  model: string;
  attempt: number;
  startedAt: number;
  firstTokenAt: number | null;
  finishedAt: number;
  inputTokens: number;
  outputTokens: number;
  /** Input tokens that the provider read from its cache, and wrote to it. Only events carry them. */
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  cost: number;
  finishReason: string;
  agentKey?: string;
  decision?: Json;
  budgeted?: boolean;
}

export interface CommitItem {
  // the fence
  run: string;
  worker: string;
  epoch: number;
  version: number;
  thread: string;
  /** The last message that the worker knows of. */
  known: number;
  steers: number;
  /** The worker has nothing left to do: park the run if calls are open outside. */
  park?: boolean;

  step?: number;
  attempt?: number;
  modelIndex?: number;
  stepRow?: StepRow;
  messages?: NewMessage[];
  events?: NewEvent[];
  calls?: NewCall[];
  settled?: CallChange[];
  begun?: CallChange[];
  /** The threads that watch the run are told of one of these calls. */
  tell?: boolean;
  /** Other threads that show one of these calls. */
  places?: string[];

  /** End every call that is still open together with the run. */
  close?: boolean;
  target?: 'completed' | 'failed' | 'canceled' | 'queued' | 'waiting_tool';
  delayMs?: number;
  outcome?: Json;
  error?: RunError;
  cancelReason?: string;
  waitState?: JsonObject;
  goEvents?: NewEvent[];
  parkEvents?: NewEvent[];
  targetEvents?: NewEvent[];
}

export interface StoredMessage {
  id: string;
  seq: number;
  role: MessageRole;
  content: Json;
  callId: string | null;
  sender: string | null;
  runId: string | null;
  step: number | null;
  metadata: JsonObject | null;
}

export interface StoredCall {
  id: string;
  step: number;
  position: number;
  tool: string;
  args: Json;
  /** A person changed the arguments. */
  edited: boolean;
  effect: ToolEffect;
  status: ToolCallStatus;
  waitsFor: WaitsFor | null;
  output: Json;
  error: CallError | null;
  attempt: number;
  epoch: number;
  /** Another thread shows it. */
  shown: boolean;
}

export type Committed =
  | {
      ok: true;
      mode: 'go' | 'parked' | 'ended' | 'released';
      /** The sequence number before the first message of this commit. */
      seq: number;
      version: number;
      /** Absent if the commit had no reason to look. */
      steers?: number;
      openCalls?: number;
      /** Messages that others appended since `known`. */
      foreign?: StoredMessage[];
      /** The end of this run promoted the next one of its thread. */
      promoted?: boolean;
      /** Calls that were approved since. */
      ready?: StoredCall[] | null;
    }
  | { ok: false; status: string; epoch?: number; version?: number; step?: number; worker?: string | null };

/** The items that were written, the sequence number before the first message of each, and more about some by number. */
type Verdicts = [number[] | null, number[] | null, Record<string, Partial<Committed>> | null];

/** Commits of one worker, in one statement. No two items name the same thread. */
export async function commit(db: Database, items: CommitItem[]): Promise<Committed[]> {
  const order = items.map((_, index) => index);
  if (items.length > 1) order.sort((a, b) => (items[a]!.run < items[b]!.run ? -1 : 1));
  const rows = await db.run<{ verdicts: Verdicts }>({
    name: 'commit',
    text: COMMIT.text,
    values: toColumns(order.map((index) => items[index]!)),
  });
  const [placed, bases, more] = rows[0]!.verdicts;
  const committed: Committed[] = [];
  placed?.forEach((number, at) => {
    const index = order[number - 1]!;
    const version = items[index]!.version + 1;
    committed[index] = { ok: true, mode: 'go', seq: bases![at]!, version };
  });
  for (const [number, rest] of Object.entries(more ?? {})) {
    const index = order[Number(number) - 1]!;
    committed[index] = { ...committed[index], ...rest } as Committed;
  }
  return committed;
}

const COMMIT = new Columns(
  'troupe.commit',
  {
    worker: 'uuid',
    count: 'int[]',
    run: 'uuid[]',
    thread: 'uuid[]',
    epoch: 'int[]',
    version: 'int[]',
    known: 'bigint[]',
    order: 'int[]',
    messages: 'int[]',
    events: 'int[]',
    log: 'json[]',
    leave: 'jsonb',
    tell: 'int[]',
    places: 'uuid[]',
    changeItem: 'int[]',
    changeId: 'text[]',
    changeStatus: 'troupe.call_status[]',
    changeOutput: 'jsonb',
    changeError: 'jsonb',
    changeMore: 'jsonb',
    messageItem: 'int[]',
    messagePlace: 'int[]',
    messageId: 'uuid[]',
    messageRole: 'troupe.message_role[]',
    messageContent: 'jsonb',
    messageCall: 'text[]',
    messageStep: 'int[]',
    messageMore: 'jsonb',
    callItem: 'int[]',
    callPlace: 'int[]',
    callId: 'text[]',
    callTool: 'text[]',
    callArgs: 'jsonb',
    callEffect: 'troupe.tool_effect[]',
    callMore: 'jsonb',
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
    stepMore: 'jsonb',
  },
  'verdicts',
);

type Rows = ReturnType<typeof COMMIT.empty>;

/** An element of a list that is sent as one document; null means absent. */
const element = (value: unknown): string | null => (value === undefined ? null : toJsonText(value));

function toColumns(items: CommitItem[]): unknown[] {
  const columns = COMMIT.empty();
  for (let index = 0; index < items.length; index++) addItem(columns, items[index]!, index + 1);
  const longest = Math.max(items.length, columns.changeId.length);
  for (let number = 1; number <= longest; number++) columns.count.push(number);
  for (let number = 1; number <= items.length; number++) columns.order.push(number);
  if (items.length > 1)
    columns.order.sort((a, b) => (items[Number(a) - 1]!.thread < items[Number(b) - 1]!.thread ? -1 : 1));
  return COMMIT.values(items[0]!.worker, columns);
}

function addItem(columns: Rows, item: CommitItem, number: number): void {
  const { messages = [], calls = [], settled = [], begun = [], stepRow } = item;
  columns.run.push(item.run);
  columns.thread.push(item.thread);
  columns.epoch.push(item.epoch);
  columns.version.push(item.version);
  columns.known.push(item.known);
  columns.messages.push(messages.length);
  if (item.tell) columns.tell.push(number);
  if (item.places) columns.places.push(...item.places);

  const going = [...(item.events ?? []), ...(item.goEvents ?? [])];
  columns.events.push(going.length);
  columns.log.push(toLog(going));

  for (let place = 0; place < messages.length; place++) {
    const { id, role, content, callId, step, sender, metadata } = messages[place]!;
    columns.messageItem.push(number);
    columns.messagePlace.push(place + 1);
    columns.messageId.push(id);
    columns.messageRole.push(role);
    columns.messageContent.push(toJsonText(content));
    columns.messageCall.push(callId ?? null);
    columns.messageStep.push(step ?? null);
    columns.messageMore.push(sender || metadata ? toJsonText({ sender, metadata }) : null);
  }
  for (let place = 0; place < calls.length; place++) addCall(columns, calls[place]!, number, place + 1);
  for (const call of settled) addChange(columns, call, number, call.waitsFor !== undefined);
  for (const call of begun) addChange(columns, call, number, true);

  columns.step.push(item.step ?? null);
  columns.input.push(stepRow?.inputTokens ?? null);
  columns.output.push(stepRow?.outputTokens ?? null);
  columns.cost.push(stepRow?.cost ?? null);
  columns.provider.push(stepRow?.provider ?? null);
  columns.model.push(stepRow?.model ?? null);
  columns.attempt.push(stepRow?.attempt ?? null);
  columns.started.push(stepRow?.startedAt ?? null);
  columns.first.push(stepRow?.firstTokenAt ?? null);
  columns.finished.push(stepRow?.finishedAt ?? null);
  columns.finish.push(stepRow?.finishReason ?? null);
  const { agentKey, decision, budgeted } = stepRow ?? {};
  columns.stepMore.push(
    agentKey || decision !== undefined || budgeted ? toJsonText({ agentKey, decision, budgeted }) : null,
  );

  const leave = toLeave(item, number);
  if (leave) columns.leave.push(toJsonText(leave));
}

function addCall(columns: Rows, call: NewCall, number: number, place: number): void {
  const { status, waitsFor, deadlineMs, error, shown } = call;
  columns.callItem.push(number);
  columns.callPlace.push(place);
  columns.callId.push(call.id);
  columns.callTool.push(call.tool);
  columns.callArgs.push(toJsonText(call.args));
  columns.callEffect.push(call.effect);
  columns.callMore.push(
    status !== 'running' || shown ? toJsonText({ status, waitsFor, deadlineMs, error, shown }) : null,
  );
}

/** `more`: the call is not simply ended. */
function addChange(columns: Rows, call: CallChange, number: number, more: boolean): void {
  const { waitsFor, deadlineMs, again } = call;
  columns.changeItem.push(number);
  columns.changeId.push(call.id);
  columns.changeStatus.push(call.status);
  columns.changeOutput.push(element(call.output));
  columns.changeError.push(element(call.error));
  columns.changeMore.push(more ? toJsonText({ waitsFor, deadlineMs, again }) : null);
}

/** What becomes of the row of the run, if the commit may change more than how far the run has come. */
function toLeave(item: CommitItem, number: number): JsonObject | null {
  let outside = 0;
  for (const list of [item.calls, item.settled, item.begun])
    for (const call of list ?? []) if (call.waitsFor) outside++;
  if (!item.target && !item.park && outside === 0 && item.modelIndex === undefined && !item.error)
    return null;
  const parks = item.target === undefined || item.target === 'waiting_tool';
  const leaving = [...(item.events ?? []), ...((parks ? item.parkEvents : item.targetEvents) ?? [])];
  return {
    item: number,
    steers: item.steers,
    outside,
    events: leaving.length,
    log: leaving.map(toEntry),
    target: item.target,
    park: item.park || undefined,
    close: item.close || undefined,
    attempt: item.attempt,
    model: item.modelIndex,
    delayMs: item.delayMs,
    outcome: item.outcome,
    error: item.error,
    cancelReason: item.cancelReason,
    waitState: item.waitState,
  } as unknown as JsonObject;
}

function toLog(events: NewEvent[]): string | null {
  return events.length === 0 ? null : toJsonText(events.map(toEntry));
}

/** An entry of a batch of events, without trailing nulls: see migrations/0041_event_batches.sql. */
function toEntry({ type, data, message, step }: NewEvent): Json {
  if (step !== undefined) return [type, data ?? null, message === undefined ? null : message + 1, step];
  if (message !== undefined) return [type, data ?? null, message + 1];
  return data === undefined ? [type] : [type, data];
}
