import type { SessionCall, SessionMessage } from '@troupe/react';
import { dayKey, type TimeSettings } from '../basic/time.tsx';
import type { ShownCall } from '../tool/call.ts';

/** What stands in a chat, from top to bottom. */
export type Entry =
  | { kind: 'day'; key: string; at: string }
  | { kind: 'message'; key: string; message: SaidMessage; isContinued: boolean }
  | { kind: 'call'; key: string; call: ShownCall; runId: string };

export type SaidMessage = Extract<SessionMessage, { role: 'user' | 'assistant' | 'system' }>;

const PAUSE_MS = 5 * 60_000;

/** Results stand with their calls; an answer that is nothing but calls is not shown as an empty message. */
export function entriesOf(
  messages: readonly SessionMessage[],
  calls: readonly SessionCall[],
  settings: TimeSettings,
): Entry[] {
  const byMessage = new Map(calls.map((call) => [call.messageId, call]));
  const times = new Map(messages.map((message) => [message.id, message.createdAt]));
  const entries: Entry[] = [];
  let day = '';
  let before: SessionMessage | null = null;
  /** Runs whose answers have begun to be shown, under the name of the agent. */
  const named = new Set<string | null>();
  for (const message of messages) {
    if (message.role === 'tool_result') continue;
    if (message.role === 'assistant' && isNothing(message.content) && !isEmptyAnswer(message)) continue;
    const today = dayKey(new Date(message.createdAt), settings);
    if (today !== day)
      entries.push({ kind: 'day', key: `day ${today} ${message.id}`, at: message.createdAt });
    if (message.role === 'tool_call') {
      const call = byMessage.get(message.id);
      if (call) {
        const shown = callOfSession(call, message.createdAt, times.get(call.resultMessageId ?? '') ?? null);
        entries.push({ kind: 'call', key: message.id, call: shown, runId: call.runId });
      }
    } else {
      const isContinued = today === day && follows(before, message, named);
      if (message.role === 'assistant') named.add(message.runId);
      entries.push({ kind: 'message', key: message.id, message, isContinued });
    }
    day = today;
    before = message;
  }
  return entries;
}

/** Whether the message stands for an empty answer: the model was asked twice and answered with no text. */
export function isEmptyAnswer({ role, metadata }: Pick<SaidMessage, 'role' | 'metadata'>): boolean {
  return role === 'assistant' && metadata?.empty === true;
}

function isNothing({ text, parts }: { text: string; parts?: readonly unknown[] | undefined }): boolean {
  return text.trim() === '' && (parts?.length ?? 0) === 0;
}

/** An answer goes on after its calls; what somebody says within minutes of the last goes on too. */
function follows(
  before: SessionMessage | null,
  message: SaidMessage,
  named: ReadonlySet<string | null>,
): boolean {
  if (!before || message.role === 'system' || before.role === 'system') return false;
  if (before.role === 'tool_call') {
    return message.role === 'assistant' && before.runId === message.runId && named.has(message.runId);
  }
  if (before.role !== message.role || before.senderId !== message.senderId) return false;
  return Date.parse(message.createdAt) - Date.parse(before.createdAt) < PAUSE_MS;
}

const errorStatus: Readonly<Record<string, ShownCall['status']>> = {
  in_doubt: 'in_doubt',
  expired: 'expired',
  deadline: 'expired',
  canceled: 'canceled',
};

function callOfSession(call: SessionCall, createdAt: string, settledAt: string | null): ShownCall {
  const { id, runId, tool, state, waitsFor, deadline, result, error } = call;
  return {
    ...{
      id,
      runId,
      tool,
      arguments: call.arguments,
      waitsFor,
      deadline,
      output: result,
      error,
      createdAt,
      settledAt,
    },
    status: statusOfSession(call),
    ...(state === 'settled' && !settledAt ? { settledAt: createdAt } : {}),
  };
}

function statusOfSession({ state, waitsFor, error, resultMessageId }: SessionCall): ShownCall['status'] {
  if (state === 'pending') return waitsFor === 'person' ? 'in_doubt' : 'requested';
  if (state === 'running') return 'running';
  if (error) return errorStatus[error.code] ?? 'failed';
  // Its run ended before it.
  return resultMessageId ? 'completed' : 'canceled';
}
