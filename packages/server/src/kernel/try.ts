import type { Json, SnapshotTool, ToolTest, ToolTrial, ToolTrialRequest } from '@troupe/protocol';
import { agentSnapshot } from '@troupe/protocol/snapshots';
import { messageOf, newId, TroupeError } from '../base/index.ts';
import { act } from './act.ts';
import type { Tools } from './ports.ts';
import { givenTo, problemOf } from './resolve.ts';

interface Trying {
  project: string;
  entityId: string | null;
  signal: AbortSignal;
}

/** Whether calls of a tool would reach what executes them; with arguments, one is made. */
export async function testTool(
  tools: Tools,
  tool: SnapshotTool,
  args: Json | undefined,
  trying: Trying,
): Promise<ToolTest> {
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  const failed = (code: string, message: string, checked: string): ToolTest => ({
    ok: false,
    error: { code, message },
    durationMs: took(),
    checked,
  });
  let checked = 'Whether this process can execute it.';
  try {
    // Others may have what this process has not.
    const looked = await tools.check?.(tool, { projectId: trying.project, signal: trying.signal });
    if (!looked && !tools.resolve(tool))
      return failed('tool_unavailable', `\`${tool.name}\` cannot be executed here.`, checked);
    checked = looked ?? 'The server executes it itself; there is nothing to connect to.';
  } catch (error) {
    const code = error instanceof TroupeError ? error.code : 'tool_error';
    return failed(code, messageOf(error), 'Whether it can be reached.');
  }
  if (args === undefined) return { ok: true, durationMs: took(), checked };
  const trial = await tryTool(tools, tool, args, trying);
  const { ok, error } = trial;
  return { ok, ...(error ? { error } : {}), durationMs: took(), checked, trial };
}

/** One call of one tool without a run: checked, executed and bounded as a worker would do it, and kept by nobody. */
export async function tryTool(
  tools: Tools,
  tool: SnapshotTool,
  asked: Json,
  { project, entityId, signal }: Trying,
): Promise<ToolTrial> {
  const args = givenTo(tool, asked);
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
