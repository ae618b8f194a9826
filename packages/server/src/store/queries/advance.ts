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
  effect: ToolEffect;
  status: ToolCallStatus;
  waitsFor: WaitsFor | null;
  output: Json;
  error: CallError | null;
  attempt: number;
  epoch: number;
}

export type Advanced =
  | {
      ok: true;
      mode: 'go' | 'parked' | 'ended' | 'released';
      /** Seq before the first message of this commit. */
      seq: number;
      version: number;
      steers: number;
      openCalls: number;
      /** What others appended since `known`. */
      foreign?: StoredMessage[];
      /** Calls that somebody let through. */
      ready?: StoredCall[] | null;
    }
  | { ok: false; status: string; epoch?: number; version?: number; step?: number; worker?: string | null };

/** One call for the commits of many runs, as one flat list per table. */
export async function advance(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  const flat = flatten(items);
  const rows = await db.run<{ verdicts: Advanced[] }>({
    name: 'advance',
    text: 'select troupe.advance($1::jsonb, $2::jsonb, $3::jsonb, $4::jsonb, $5::jsonb, $6::jsonb) as verdicts',
    values: [flat.items, flat.messages, flat.events, flat.calls, flat.changes, flat.steps].map(toJsonText),
  });
  return rows[0]!.verdicts;
}

function flatten(all: AdvanceItem[]) {
  const items: object[] = [];
  const messages: object[] = [];
  const events: object[] = [];
  const calls: object[] = [];
  const changes: object[] = [];
  const steps: object[] = [];
  all.forEach((item, index) => {
    const i = index + 1;
    const { epoch, worker, step } = item;
    let outside = 0;
    item.messages?.forEach((message, k) => messages.push({ ...message, i, k: k + 1 }));
    const e = item.events?.length ?? 0;
    const addEvents = (list: NewEvent[] | undefined, from: number, w?: string): number => {
      list?.forEach((event, k) =>
        events.push({
          type: event.type,
          data: event.data,
          step: event.step,
          message: event.message === undefined ? undefined : event.message + 1,
          i,
          k: from + k + 1,
          w,
        }),
      );
      return list?.length ?? 0;
    };
    addEvents(item.events, 0);
    item.calls?.forEach((call, k) => {
      calls.push({ ...call, i, k: k + 1, step, epoch });
      if (call.waitsFor) outside++;
    });
    for (const change of [...(item.settled ?? []), ...(item.begun ?? [])]) {
      changes.push({ ...change, i, epoch });
      if (change.waitsFor) outside++;
    }
    if (item.stepRow) steps.push({ ...item.stepRow, i, step, epoch, worker });
    items.push({
      i,
      run: item.run,
      worker,
      epoch,
      version: item.version,
      thread: item.thread,
      known: item.known,
      steers: item.steers,
      park: item.park,
      outside,
      step,
      attempt: item.attempt,
      modelIndex: item.modelIndex,
      target: item.target,
      delayMs: item.delayMs,
      outcome: item.outcome,
      error: item.error,
      cancelReason: item.cancelReason,
      waitState: item.waitState,
      close: item.close,
      m: item.messages?.length ?? 0,
      e,
      eGo: addEvents(item.goEvents, e, 'go'),
      ePark: addEvents(item.parkEvents, e, 'parked'),
      eTarget: addEvents(item.targetEvents, e, 'ended'),
      inputTokens: item.stepRow?.inputTokens ?? 0,
      outputTokens: item.stepRow?.outputTokens ?? 0,
      cost: item.stepRow?.cost ?? 0,
    });
  });
  return { items, messages, events, calls, changes, steps };
}
