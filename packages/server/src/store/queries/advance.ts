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

export async function advance(db: Database, items: AdvanceItem[]): Promise<Advanced[]> {
  const rows = await db.run<{ verdicts: Advanced[] }>({
    name: 'advance',
    text: 'select troupe.advance($1::jsonb) as verdicts',
    values: [toJsonText(items)],
  });
  return rows[0]!.verdicts;
}
