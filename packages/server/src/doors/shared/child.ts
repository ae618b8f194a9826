import type { Json, JsonObject, SnapshotTool } from '@troupe/protocol';
import { idFrom, TroupeError } from '../../base/index.ts';
import {
  HANDED_OVER,
  type Kernel,
  persistently,
  type ToolAnswer,
  type ToolContext,
} from '../../kernel/index.ts';
import type { NewRun } from '../../store/index.ts';

/** Where nobody said otherwise; networks have a policy. */
const MOST = { depth: 3, runs: 100 };

export interface Child {
  /** What the run is asked. */
  text: string;
  run: Omit<NewRun, 'id' | 'parent' | 'root' | 'triggerType' | 'chainDepth'>;
}

/** The same however often the call is tried. */
export function childIdOf({ runId, callId }: Pick<ToolContext, 'runId' | 'callId'>): string {
  return idFrom(`${runId}:${callId}:task`, runId);
}

/** Begins a run for a call, which from then on waits for it. What cannot be begun is told to the model. */
export async function beginChild(
  kernel: Kernel,
  { deadlineMs, config }: Pick<SnapshotTool, 'deadlineMs' | 'config'>,
  context: ToolContext,
  { text, run }: Child,
): Promise<ToolAnswer> {
  const { projectId, runId, callId, epoch, worker, signal } = context;
  const id = childIdOf(context);
  const begun = await persistently(
    () =>
      kernel.beginChild({
        by: { run: runId, call: callId, epoch, worker },
        deadlineMs,
        most: { ...MOST, ...(config.most as JsonObject | undefined) },
        item: {
          project: projectId,
          thread: idFrom(`${id}:thread`),
          createThread: 'run',
          message: { id: idFrom(`${id}:message`), role: 'user', content: { text } },
          // Nobody waits for longer than the call does.
          run: { ...run, id, triggerType: 'task', wallMs: Math.min(run.wallMs, deadlineMs) },
        },
      }),
    signal,
  );
  if (begun.ok) return HANDED_OVER;
  switch (begun.code) {
    case 'task_depth':
      throw new TroupeError(
        begun.code,
        `This was not begun: tasks may be nested ${begun.limit} deep, and this one would be deeper. Do it without giving it on.`,
      );
    case 'too_many_runs':
      throw new TroupeError(
        begun.code,
        `This was not begun: ${begun.limit} tasks in all may follow from what was asked, and there were as many. Go on without more of them.`,
      );
    default:
      throw new TroupeError('run_lost', 'This run is no longer this worker’s: it was stopped or taken over.');
  }
}

/** What the system gives, and the rest. By now the call has all its parameters (tools/given.ts); who gives which is kept with the tool. */
export function apart(
  { config }: Pick<SnapshotTool, 'config'>,
  args: JsonObject,
): { system: JsonObject; input: JsonObject } {
  const params = Array.isArray(config.params) ? (config.params as { name: string; source: string }[]) : [];
  const ofSystem = new Set(params.filter(({ source }) => source === 'system').map(({ name }) => name));
  const entries = Object.entries(args);
  return {
    system: Object.fromEntries(entries.filter(([name]) => ofSystem.has(name))),
    input: Object.fromEntries(entries.filter(([name]) => !ofSystem.has(name))),
  };
}

/** What a run is asked by the arguments of a call: `input` alone as it is, else all of them. */
export function inputOf(args: JsonObject): string {
  const [only, ...more] = Object.keys(args);
  const value: Json = only === 'input' && more.length === 0 ? args.input! : args;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
