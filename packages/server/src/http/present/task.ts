import type {
  Json,
  SubAgent,
  SubAgentMessage,
  SubAgentToolCall,
  Task,
  ToolCallStatus,
} from '@troupe/protocol';
import type {
  SubAgentCallRecord,
  SubAgentMessageRecord,
  SubAgentRecord,
  TaskRecord,
} from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentTask({ error, ...task }: TaskRecord): Task {
  return {
    ...isoTimes(task),
    error: error ? (error.message ?? 'It failed.') : null,
    code: error?.code ?? null,
  };
}

export function presentSubAgent(subAgent: SubAgentRecord): SubAgent {
  return isoTimes(subAgent);
}

type Of = Pick<SubAgentRecord, 'id' | 'userId'>;

/** As providers are given it: arguments are text, and so are results. */
export function presentSubAgentMessage(
  { id: subAgentId, userId }: Of,
  message: SubAgentMessageRecord,
): SubAgentMessage {
  const { id, role, text, calls, toolCallId, name, content } = message;
  const { result, error } = (content ?? {}) as { result?: Json; error?: { message: string } | null };
  return {
    id,
    userId,
    subAgentId,
    role,
    content: role === 'tool' ? (error?.message ?? textOf(result ?? null)) : text,
    ...(toolCallId === null ? {} : { toolCallId }),
    ...(calls.length === 0 ? {} : { toolCalls: calls.map(toFunctionCall) }),
    ...(name === null ? {} : { name }),
    createdAt: message.createdAt.toISOString(),
  };
}

function toFunctionCall({ id, name, arguments: args }: SubAgentMessageRecord['calls'][number]) {
  return { id, type: 'function' as const, function: { name, arguments: JSON.stringify(args) } };
}

const STATUS: Record<ToolCallStatus, SubAgentToolCall['status']> = {
  requested: 'pending',
  running: 'pending',
  completed: 'success',
  failed: 'failed',
  canceled: 'failed',
  expired: 'failed',
  in_doubt: 'failed',
};

export function presentSubAgentCall(
  { id: subAgentId, userId }: Of,
  call: SubAgentCallRecord,
): SubAgentToolCall {
  const status = STATUS[call.status];
  return {
    id: call.id,
    userId,
    subAgentId,
    runId: call.run,
    callId: call.callId,
    step: call.step,
    toolName: call.tool,
    args: call.args,
    status,
    ...(status === 'success' ? { result: textOf(call.output as Json) } : {}),
    ...(status === 'failed' ? { error: call.error?.message ?? `It is ${call.status}.` } : {}),
    createdAt: call.createdAt.toISOString(),
  };
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
