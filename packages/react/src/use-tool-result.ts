import type { ToolResultResult } from './results.ts';

/** For a component that answers a call of a client tool, or of a tool with a UI. */
export function useToolResult(_call: { runId: string; callId: string }): ToolResultResult {
  throw new Error('not yet');
}
