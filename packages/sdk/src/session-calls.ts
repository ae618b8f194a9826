import type { Json, Message, RunStatus, WaitsFor } from '@troupe/protocol';

/** A run of a session that has not ended. */
export interface OpenRun {
  id: string;
  status: RunStatus;
}

/** A call that waits for somebody outside. */
export interface WaitingFor {
  runId: string;
  id: string;
  waitsFor: WaitsFor;
  deadline: string | null;
}

/** A call of a tool, as far as the messages of a session tell. */
export interface SessionCall {
  id: string;
  runId: string;
  step: number | null;
  tool: string;
  arguments: Json;
  /** `pending`: it waits for somebody outside, `waitsFor` says for whom. */
  state: 'pending' | 'running' | 'settled';
  waitsFor: WaitsFor | null;
  deadline: string | null;
  /** Null until it is settled. */
  result: Json;
  /** Null where it went well. One whose run ended before it has neither result nor error. */
  error: { code: string; message: string } | null;
  /** The message of the call, and that of its result. */
  messageId: string;
  resultMessageId: string | null;
}

const nameOf = (runId: string, callId: string) => `${runId} ${callId}`;

/** The calls of these messages, in their order. Those that are as they were before are the same objects. */
export function callsOf(
  messages: readonly Message[],
  runs: readonly OpenRun[],
  waiting: readonly WaitingFor[],
  before: readonly SessionCall[],
): readonly SessionCall[] {
  const open = new Set(runs.map(({ id }) => id));
  const waits = new Map(waiting.map((one) => [nameOf(one.runId, one.id), one]));
  const known = new Map(before.map((call) => [call.messageId, call]));
  const calls = new Map<string, SessionCall>();
  for (const message of messages) {
    const { runId, role } = message;
    if (runId === null) continue;
    if (role === 'tool_call') {
      const { id, name: tool, arguments: args } = message.content;
      const waitsFor = waits.get(nameOf(runId, id));
      calls.set(nameOf(runId, id), {
        id,
        runId,
        step: message.step,
        tool,
        arguments: args,
        state: waitsFor ? 'pending' : open.has(runId) ? 'running' : 'settled',
        waitsFor: waitsFor?.waitsFor ?? null,
        deadline: waitsFor?.deadline ?? null,
        result: null,
        error: null,
        messageId: message.id,
        resultMessageId: null,
      });
    } else if (role === 'tool_result') {
      const name = nameOf(runId, message.toolCallId ?? '');
      const call = calls.get(name);
      if (!call) continue;
      const { result, error, calledWith } = message.content;
      const settled = { state: 'settled' as const, waitsFor: null, deadline: null, result, error };
      const args = calledWith === undefined ? {} : { arguments: calledWith };
      calls.set(name, { ...call, ...settled, ...args, resultMessageId: message.id });
    }
  }
  const now = [...calls.values()].map((call) => {
    const same = known.get(call.messageId);
    const isSame =
      same?.state === call.state &&
      same.waitsFor === call.waitsFor &&
      same.resultMessageId === call.resultMessageId;
    return isSame ? same : call;
  });
  const isUnchanged = now.length === before.length && now.every((call, at) => call === before[at]);
  return isUnchanged ? before : now;
}
