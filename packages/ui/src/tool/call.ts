import type { Api } from '@troupe/react';

/**
 * A call as it is shown. `Api.ToolCall` is one as it stands; what a space knows of a call becomes one by `callOfSpace`, and what
 * waits in the inbox by `callOfInbox`.
 */
export interface ShownCall {
  id: string;
  tool: string;
  status: Api.ToolCallStatus;
  /** Needed to settle it. */
  runId?: string | null | undefined;
  arguments?: unknown;
  output?: unknown;
  error?: { code: string; message: string } | null | undefined;
  /** Who outside settles it, while it is not settled. */
  waitsFor?: Api.WaitsFor | null | undefined;
  argumentsHash?: string | undefined;
  /** A person changed the arguments when they approved it. */
  edited?: boolean | undefined;
  attempt?: number | undefined;
  deadline?: string | null | undefined;
  createdAt?: string | null | undefined;
  settledAt?: string | null | undefined;
  settledBy?: string | null | undefined;
  agentName?: string | null | undefined;
  /** Which component shows it, where the tool names one. */
  customUI?: string | null | undefined;
}

/** What of a tool helps to show its calls. `Api.Tool` is one. */
export interface ShownTool {
  name?: string | undefined;
  displayName?: string | null | undefined;
  description?: string | undefined;
  inputSchema?: { [key: string]: unknown } | undefined;
  outputSchema?: { [key: string]: unknown } | null | undefined;
}

export function isOpen(call: ShownCall): boolean {
  return call.status === 'requested' || call.status === 'running';
}

/** What its badge says: a call that is not settled and waits for somebody is `waiting`. */
export function statusOf(call: ShownCall): Api.ToolCallStatus | 'waiting' {
  return isOpen(call) && call.waitsFor ? 'waiting' : call.status;
}

const spaceStatus = {
  running: 'running',
  requires_action: 'requested',
  complete: 'completed',
  error: 'failed',
} as const satisfies Record<Api.ShownTool['status'], Api.ToolCallStatus>;

/** The call that a message of the role `tool_call` in a space shows. */
export function callOfSpace(message: Api.SpaceMessage): ShownCall | null {
  const { tool } = message;
  if (!tool) return null;
  return {
    id: tool.callId,
    tool: tool.name,
    status: spaceStatus[tool.status],
    runId: message.runId,
    arguments: tool.arguments,
    output: tool.result,
    error: tool.error,
    waitsFor: tool.status === 'requires_action' ? 'client' : null,
    createdAt: message.createdAt,
    agentName: message.senderName,
    customUI: tool.customUI,
  };
}

export function callOfInbox(call: Api.WaitingCall): ShownCall {
  return { ...call, id: call.callId, status: call.waitsFor === 'person' ? 'in_doubt' : 'requested' };
}
