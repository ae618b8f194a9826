import { runStatus } from '@troupe/protocol';
import { json, MORE, record, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent, ID } from './find-agent.ts';

export const runs: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const agentId = options.agent ? (await findAgent(troupe, options.agent)).id : undefined;
    const { data, nextCursor } = await troupe.runs.list({
      query: {
        limit: limitOf(options),
        ...(options.status ? { status: oneOf('status', options.status, runStatus.options) } : {}),
        ...(agentId ? { agentId } : {}),
        ...(options.session ? { sessionId: options.session } : {}),
      },
    });
    terminal.out(options.json ? json(data) : table(data, ['id', 'status', 'step', 'createdAt', 'error']));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    const { steps, calls, ...run } = await given.troupe.runs.get({ params: paramsOf(given) });
    if (given.options.json) return given.terminal.out(json({ ...run, steps, calls }));
    given.terminal.out(record(run));
    given.terminal.out(
      `\n${table(steps, ['step', 'model', 'finishReason', 'usage', 'startedAt', 'finishedAt'])}`,
    );
    given.terminal.out(`\n${table(calls, ['step', 'tool', 'status', 'arguments', 'output'])}`);
  },
  async cancel(given) {
    show(given, await given.troupe.runs.cancel({ params: paramsOf(given) }));
  },
  async retry(given) {
    show(given, await given.troupe.runs.retry({ params: paramsOf(given) }));
  },
};

function paramsOf({ words }: Surroundings): { runId: string } {
  const runId = words[0]!;
  if (!ID.test(runId)) throw new UsageError(`"${runId}" is no id of a run`, '`troupe runs list` shows them.');
  return { runId };
}

function show({ terminal, options }: Surroundings, run: object): void {
  terminal.out(options.json ? json(run) : record(run as Record<string, unknown>));
}
