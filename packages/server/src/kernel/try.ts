import {
  agentSnapshot,
  type Json,
  type SnapshotTool,
  type ToolTrial,
  type ToolTrialRequest,
} from '@troupe/protocol';
import { newId } from '../base/index.ts';
import { act } from './act.ts';
import type { Tools } from './ports.ts';
import { problemOf } from './resolve.ts';

/** One call of one tool without a run: checked, executed and bounded as a worker would do it, and kept by nobody. */
export async function tryTool(
  tools: Tools,
  tool: SnapshotTool,
  args: Json,
  { project, entityId, signal }: { project: string; entityId: string | null; signal: AbortSignal },
): Promise<ToolTrial> {
  const began = performance.now();
  let request: ToolTrialRequest | null = null;
  const told = (how: Pick<ToolTrial, 'ok' | 'output' | 'error'>): ToolTrial => ({
    ...how,
    durationMs: Math.round(performance.now() - began),
    request,
  });
  const models = [{ provider: 'none', model: 'none' }];
  const snapshot = agentSnapshot.parse({ kind: 'agent', name: tool.name, models, tools: [tool] });
  const problem = problemOf(snapshot, tool, tool.name, args);
  if (problem) return told({ ok: false, error: problem });
  const context = {
    projectId: project,
    runId: newId(),
    threadId: newId(),
    agentId: null,
    entityId,
    epoch: 0,
    worker: newId(),
    step: 1,
    attempt: 1,
    signal,
    onRequest: (sent: ToolTrialRequest) => {
      request = sent;
    },
  };
  const done = await act(tools, snapshot, { id: 'try', tool: tool.name, args }, context);
  if (!('status' in done)) {
    const message = `\`${tool.name}\` waits for somebody, which only a run can do.`;
    return told({ ok: false, error: { code: 'tool_needs_run', message } });
  }
  if (done.status === 'completed') return told({ ok: true, output: done.output as Json });
  return told({ ok: false, error: done.error as ToolTrial['error'] });
}
