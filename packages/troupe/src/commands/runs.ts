import { type Json, runStatus } from '@troupe/protocol';
import type { Run } from '@troupe/sdk';
import { json, MORE, record, table } from '../output.ts';
import { limitOf, onceGiven, oneOf } from '../parse.ts';
import { type Terminal, UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent, ID } from './find-agent.ts';
import { show } from './show.ts';
import { eventLine, everything, messagesAsText, PAGE } from './thread.ts';

const ENDS = ['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'];

export const runs: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const agent = onceGiven('agent', options.agent);
    const agentId = agent ? (await findAgent(troupe, agent)).id : undefined;
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
  show: details,
  get: details,
  async cancel(given) {
    show(given, await given.troupe.runs.cancel({ params: paramsOf(given) }));
  },
  async retry(given) {
    show(given, await given.troupe.runs.retry({ params: paramsOf(given) }));
  },
  async messages({ troupe, terminal, options, ...given }) {
    const { runId } = paramsOf(given);
    const of = oneOf('of', options.of ?? 'thread', ['thread', 'run']);
    const all = await everything((after) => troupe.run(runId).messages({ of, after, limit: PAGE }));
    terminal.out(options.json ? json(all) : messagesAsText(all));
  },
  async events({ troupe, terminal, options, ...given }) {
    const run = troupe.run(paramsOf(given).runId);
    if (options.follow) return follow(run, terminal, options.json ?? false);
    const all = await everything((after) => run.events({ after, limit: PAGE }));
    terminal.out(options.json ? json(all) : table(all, ['sequence', 'createdAt', 'type', 'step', 'data']));
  },
  async fork(given) {
    const step = Number(given.words[1]);
    if (!Number.isInteger(step) || step < 0) throw new UsageError('<step> must be a number from 0 on');
    show(given, await given.troupe.runs.fork({ params: paramsOf(given), body: { step } }));
  },
  async continue(given) {
    const { troupe, options } = given;
    const body = options.title === undefined ? {} : { title: options.title };
    show(given, await troupe.runs.continue({ params: paramsOf(given), body }));
  },
};

async function details(given: Surroundings): Promise<void> {
  const { steps, calls, ...run } = await given.troupe.runs.get({ params: paramsOf(given) });
  if (given.options.json) return given.terminal.out(json({ ...run, steps, calls }));
  given.terminal.out(record(run));
  // Who took a step and what came of it is what one looks for in a run of a network.
  const ofNetwork = steps.some(({ agentKey }) => agentKey !== null);
  const rows = steps.map((step) => ({ ...step, agent: step.agentKey, decided: decidedIn(step.decision) }));
  const columns = [
    'step',
    ...(ofNetwork ? ['agent', 'decided'] : []),
    ...['model', 'finishReason', 'usage', 'startedAt', 'finishedAt'],
  ];
  given.terminal.out(`\n${table(rows, columns)}`);
  given.terminal.out(`\n${table(calls, ['step', 'tool', 'status', 'arguments', 'output'])}`);
}

/** `USE_TOOL search ok`, `RESPOND respond_not_allowed`; a group is told by its tasks. */
function decidedIn(decision: Json): string {
  const decisions = (Array.isArray(decision) ? decision : []) as {
    [field: string]: Json;
  }[];
  return decisions
    .map(({ type, tool, agent, status, code, tasks }) =>
      tasks ? decidedIn(tasks) : [type, tool ?? agent, code ?? status].filter(Boolean).join(' '),
    )
    .join(', ');
}

/** Until the run has ended: what comes after the end of one that was taken up again is shown too. */
async function follow(run: Run, terminal: Terminal, asJson: boolean): Promise<void> {
  for await (const item of run.stream()) {
    if (item.kind !== 'event') continue;
    const { event } = item;
    terminal.out(eventLine(event, asJson));
    if (ENDS.includes(event.type) && (await isOver(run, event.sequence))) return;
  }
}

/** Whether this is the end, or the end of an earlier try. */
async function isOver(run: Run, sequence: number): Promise<boolean> {
  const { data } = await run.events({ after: sequence, types: [...ENDS, 'run.queued'].join(','), limit: 1 });
  return data.length === 0;
}

function paramsOf({ words }: Pick<Surroundings, 'words'>): { runId: string } {
  const runId = words[0]!;
  if (!ID.test(runId)) throw new UsageError(`"${runId}" is no id of a run`, '`troupe runs list` shows them.');
  return { runId };
}
