import type { RunStatus } from '@troupe/protocol';
import { json, record, table } from '../output.ts';
import { wordAt } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';

export const runs: Command = async (given) => {
  const [action = 'list', ...words] = given.words;
  const act = actions[action];
  if (!act) throw new UsageError(`runs does not know "${action}"`);
  await act({ ...given, words });
};

const actions: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data } = await troupe.runs.list({
      query: {
        limit: Number(options.limit ?? 50),
        ...(options.status ? { status: options.status as RunStatus } : {}),
        ...(options.agent ? { agentId: options.agent } : {}),
        ...(options.session ? { sessionId: options.session } : {}),
      },
    });
    terminal.out(options.json ? json(data) : table(data, ['id', 'status', 'step', 'createdAt', 'error']));
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
  return { runId: wordAt(words, 0, 'the run') };
}

function show({ terminal, options }: Surroundings, run: object): void {
  terminal.out(options.json ? json(run) : record(run as Record<string, unknown>));
}
