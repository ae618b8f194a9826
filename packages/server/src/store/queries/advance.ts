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
import { Columns, upTo } from './columns.ts';

// What a worker writes about a run it holds. The shape of troupe.advance (0002_advance.sql); one item is one commit.

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
  /** Index into the item's messages: the event's data then carries that message's seq. */
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
  /** Where the call is shown, and what of it: 0021_calls_in_spaces.sql. */
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
  /** 1 where a running call is tried once more. */
  again?: number;
  by?: string;
  /** A space sees the call. */
  shown?: true;
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
  /** Of the input tokens, those that a provider's cache had, and those that were put there. Told in events. */
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  cost: number;
  finishReason: string;
  agentKey?: string;
  decision?: Json;
  budgeted?: boolean;
}

export interface AdvanceItem {
  // the fence
  run: string;
  worker: string;
  epoch: number;
  version: number;
  thread: string;
  /** The last message seq that the worker knows of. */
  known: number;
  steers: number;
  /** Nothing is left to do here: wait if calls are open outside. */
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

  /** End whatever call is still open, together with the run. */
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
  /** A space sees it. */
  shown: boolean;
}

export type Advanced =
  | {
      ok: true;
      mode: 'go' | 'parked' | 'ended' | 'released';
      /** Seq before the first message of this commit. */
      seq: number;
      version: number;
      /** Absent where the commit had no reason to look. */
      steers?: number;
      openCalls?: number;
      /** What others appended since `known`. */
      foreign?: StoredMessage[];
      /** The end of this run let the next one of its thread in. */
      promoted?: boolean;
      /** Calls that somebody let through. */
      ready?: StoredCall[] | null;
    }
  | { ok: false; status: string; epoch?: number; version?: number; step?: number; worker?: string | null };

/** One call for the commits of many runs, as one typed array per column. All items are of one worker. */
export async function advance(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  // The order of locks; verdicts come back in it.
  const order = items.map((_, index) => index);
  if (items.length > 1) order.sort((a, b) => (items[a]!.run < items[b]!.run ? -1 : 1));
  const rows = await db.run<{ verdicts: Advanced[] }>({
    name: 'advance',
    text: ADVANCE.text,
    values: columnsOf(order.map((index) => items[index]!)),
  });
  const verdicts: Advanced[] = [];
  order.forEach((index, place) => {
    verdicts[index] = rows[0]!.verdicts[place]!;
  });
  return verdicts;
}

const ADVANCE = new Columns(
  'troupe.advance',
  {
    worker: 'uuid',
    order: 'int[]',
    run: 'uuid[]',
    thread: 'uuid[]',
    epoch: 'int[]',
    version: 'int[]',
    known: 'bigint[]',
    step: 'int[]',
    input: 'bigint[]',
    output: 'bigint[]',
    cost: 'bigint[]',
    row: 'boolean[]',
    steers: 'int[]',
    park: 'boolean[]',
    attempt: 'int[]',
    model: 'int[]',
    outside: 'int[]',
    target: 'text[]',
    extra: 'jsonb[]',
    messageUpto: 'int[]',
    messageId: 'uuid[]',
    messageRole: 'troupe.message_role[]',
    messageContent: 'jsonb[]',
    messageCall: 'text[]',
    messageStep: 'int[]',
    messageExtra: 'jsonb[]',
    eventUpto: 'int[]',
    eventWhen: 'text[]',
    eventType: 'text[]',
    eventData: 'jsonb[]',
    eventMessage: 'int[]',
    eventStep: 'int[]',
    callUpto: 'int[]',
    callId: 'text[]',
    callTool: 'text[]',
    callArgs: 'jsonb[]',
    callEffect: 'troupe.tool_effect[]',
    callStatus: 'troupe.call_status[]',
    callExtra: 'jsonb[]',
    changeUpto: 'int[]',
    changeId: 'text[]',
    changeStatus: 'troupe.call_status[]',
    changeOutput: 'jsonb[]',
    changeError: 'jsonb[]',
    changeExtra: 'jsonb[]',
    stepProvider: 'text[]',
    stepModel: 'text[]',
    stepAttempt: 'int[]',
    stepStarted: 'float8[]',
    stepFirst: 'float8[]',
    stepFinished: 'float8[]',
    stepFinish: 'text[]',
    stepExtra: 'jsonb[]',
  },
  'verdicts',
);

/** Sent only where an item may change the row of its run. */
const ROW_COLUMNS = [
  'row',
  'steers',
  'park',
  'attempt',
  'model',
  'outside',
  'target',
  'extra',
  'eventWhen',
] as const;

const json = (value: unknown): string | null => (value === undefined ? null : toJsonText(value));

function columnsOf(items: AdvanceItem[]): unknown[] {
  const column = ADVANCE.empty();
  let anyRow = false;
  for (const item of items) {
    let outside = 0;
    for (const message of item.messages ?? []) {
      column.messageId.push(message.id);
      column.messageRole.push(message.role);
      column.messageContent.push(json(message.content));
      column.messageCall.push(message.callId ?? null);
      column.messageStep.push(message.step ?? null);
      column.messageExtra.push(
        message.sender || message.metadata
          ? json({ sender: message.sender, metadata: message.metadata })
          : null,
      );
    }
    column.messageUpto.push(column.messageId.length);

    for (const call of item.calls ?? []) {
      if (call.waitsFor) outside++;
      column.callId.push(call.id);
      column.callTool.push(call.tool);
      column.callArgs.push(json(call.args));
      column.callEffect.push(call.effect);
      column.callStatus.push(call.status);
      column.callExtra.push(
        call.waitsFor || call.error || call.shown
          ? json({
              waitsFor: call.waitsFor,
              deadlineMs: call.deadlineMs,
              error: call.error,
              shown: call.shown,
            })
          : null,
      );
    }
    column.callUpto.push(column.callId.length);

    const addChange = (call: CallChange, plain: boolean) => {
      if (call.waitsFor) outside++;
      column.changeId.push(call.id);
      column.changeStatus.push(call.status);
      column.changeOutput.push(json(call.output));
      column.changeError.push(json(call.error));
      column.changeExtra.push(
        plain && !call.waitsFor
          ? call.shown
            ? json({ shown: true, ends: true })
            : null
          : json({
              waitsFor: call.waitsFor,
              deadlineMs: call.deadlineMs,
              again: call.again,
              shown: call.shown,
            }),
      );
    };
    for (const call of item.settled ?? []) addChange(call, true);
    for (const call of item.begun ?? []) addChange(call, false);
    column.changeUpto.push(column.changeId.length);

    const touches = touchesRow(item, outside);
    anyRow ||= touches;
    column.row.push(touches);
    column.steers.push(item.steers);
    column.park.push(item.park ?? false);
    column.attempt.push(item.attempt ?? null);
    column.model.push(item.modelIndex ?? null);
    column.outside.push(outside);
    column.target.push(item.target ?? null);
    column.extra.push(
      touches
        ? json({
            delayMs: item.delayMs,
            outcome: item.outcome,
            error: item.error,
            cancelReason: item.cancelReason,
            waitState: item.waitState,
            close: item.close,
          })
        : null,
    );

    const addEvents = (list: NewEvent[] | undefined, when: string | null) => {
      for (const event of list ?? []) {
        column.eventWhen.push(when);
        column.eventType.push(event.type);
        column.eventData.push(json(event.data));
        column.eventMessage.push(event.message === undefined ? null : event.message + 1);
        column.eventStep.push(event.step ?? null);
      }
    };
    addEvents(item.events, null);
    // What just goes on goes on for certain; only the others need both sets of events.
    addEvents(item.goEvents, touches ? 'go' : null);
    if (touches) {
      addEvents(item.parkEvents, 'parked');
      addEvents(item.targetEvents, 'ended');
    }
    column.eventUpto.push(column.eventType.length);

    const taken = item.stepRow;
    column.stepProvider.push(taken?.provider ?? null);
    column.stepModel.push(taken?.model ?? null);
    column.stepAttempt.push(taken?.attempt ?? null);
    column.stepStarted.push(taken?.startedAt ?? null);
    column.stepFirst.push(taken?.firstTokenAt ?? null);
    column.stepFinished.push(taken?.finishedAt ?? null);
    column.stepFinish.push(taken?.finishReason ?? null);
    column.stepExtra.push(
      taken && (taken.agentKey || taken.decision !== undefined || taken.budgeted)
        ? json({ agentKey: taken.agentKey, decision: taken.decision, budgeted: taken.budgeted })
        : null,
    );
    column.input.push(taken?.inputTokens ?? 0);
    column.output.push(taken?.outputTokens ?? 0);
    column.cost.push(taken?.cost ?? 0);
    column.step.push(item.step ?? null);

    column.run.push(item.run);
    column.thread.push(item.thread);
    column.epoch.push(item.epoch);
    column.version.push(item.version);
    column.known.push(item.known);
  }
  column.order = upTo(items.length);
  if (items.length > 1)
    column.order.sort((a, b) => (items[Number(a) - 1]!.thread < items[Number(b) - 1]!.thread ? -1 : 1));
  if (!anyRow) for (const name of ROW_COLUMNS) column[name] = [];
  return ADVANCE.values(items[0]!.worker, column);
}

/** Whether the commit may change more than how far the run has come. */
function touchesRow(item: AdvanceItem, outside: number): boolean {
  return Boolean(item.target || item.park || outside > 0 || item.modelIndex !== undefined || item.error);
}
