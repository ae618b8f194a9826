import { setTimeout } from 'node:timers/promises';
import { type Event, type SubAgentMessage, type Task, taskStatus } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { json, MORE, plain, record, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { ID } from './find-agent.ts';
import { findSpace } from './find-space.ts';

const LOOK_MS = 1_000;
const INTERRUPTED = 130;

export const tasks: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.tasks.list({
      query: {
        limit: limitOf(options),
        ...(options.chat ? { chat: await chatOf(troupe, options.chat) } : {}),
        ...(options.status ? { status: oneOf('status', options.status, taskStatus.options) } : {}),
      },
    });
    terminal.out(
      options.json ? json(data) : table(data, ['id', 'name', 'status', 'createdAt', 'instruction']),
    );
    if (nextCursor) terminal.err(MORE);
  },
  show: details,
  get: details,
  async cancel(given) {
    const { troupe, terminal, options } = given;
    if ((given.words[0] === undefined) === (options.chat === undefined))
      throw new UsageError('Say which: a task, or --chat for all of a session or space');
    if (options.chat !== undefined) {
      const { canceled } = await troupe.tasks.cancelAll({
        body: { chat: await chatOf(troupe, options.chat) },
      });
      return terminal.out(options.json ? json(canceled) : `canceled: ${canceled.length}\n`);
    }
    const task = await troupe.tasks.cancel({ params: paramsOf(given) });
    terminal.out(options.json ? json(task) : record(task));
  },
  async create({ troupe, terminal, options, words }) {
    const [name, instruction] = words as [string, string];
    if (options.chat === undefined) throw new UsageError('--chat is missing');
    const chat = await chatOf(troupe, options.chat);
    const task = await troupe.tasks.create({ body: { chat, type: 'agent', name, instruction } });
    terminal.out(options.json ? json(task) : record(task));
  },
  async answer(given) {
    const { troupe, terminal, options, words } = given;
    const task = await troupe.tasks.answer({ params: paramsOf(given), body: { answer: words[1]! } });
    terminal.out(options.json ? json(task) : record(task));
  },
  watch,
};

/** The task, and what was said and done within it. */
async function details(given: Surroundings): Promise<void> {
  const { troupe, terminal, options } = given;
  const task = await troupe.tasks.get({ params: paramsOf(given) });
  const { subAgentId } = task;
  const subAgent = subAgentId ? await troupe.subAgents.get({ params: { subAgentId } }) : null;
  const messages: SubAgentMessage[] = [];
  if (subAgentId) {
    const list = troupe.subAgents.messages;
    for await (const message of troupe.all(({ query }) => list({ params: { subAgentId }, query })))
      messages.push(message);
  }
  if (options.json) return terminal.out(json({ ...task, subAgent, messages }));
  terminal.out(record(task));
  if (subAgent) terminal.out(`\n${record(subAgent)}`);
  for (const { role, content, name, toolCalls = [] } of messages) {
    if (content !== '') terminal.out(plain(`\n${name ?? role}: ${content}\n`));
    for (const { function: called } of toolCalls)
      terminal.out(plain(`\n  [${called.name} ${called.arguments}]\n`));
  }
}

/** A line for each that begins, asks or ends, until it is interrupted. */
async function watch({ troupe, terminal, options, words }: Surroundings): Promise<number> {
  const interrupt = new AbortController();
  const undo = terminal.onInterrupt(() => interrupt.abort());
  const told = new Map<string, string>();
  try {
    const chat = await chatOf(troupe, words[0]!);
    for (;;) {
      const { data } = await troupe.tasks.list({ query: { chat, limit: 200 } }, { signal: interrupt.signal });
      for (const task of data.toReversed()) {
        const line = taskLine(task);
        if (told.get(task.id) === line) continue;
        told.set(task.id, line);
        terminal.out(options.json ? `${JSON.stringify(task)}\n` : `${task.id}  ${line}\n`);
      }
      await setTimeout(LOOK_MS, undefined, { signal: interrupt.signal });
    }
  } catch (error) {
    if (interrupt.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    undo();
  }
}

/** A session by its id, a space by its id or name. */
async function chatOf(troupe: Troupe, chat: string): Promise<string> {
  return ID.test(chat) ? chat : (await findSpace(troupe, chat)).id;
}

type Told = Pick<Task, 'name' | 'status'> & Partial<Pick<Task, 'instruction' | 'question' | 'error'>>;

/** What has become of a task, in a line. */
function taskLine({ name, status, instruction, question, error }: Told): string {
  const [has, what] = {
    pending: ['begins', instruction],
    running: ['is at work', instruction],
    waiting: ['asks', question],
    success: ['has done it', null],
    failed: ['failed', error],
    canceled: ['was canceled', null],
  }[status];
  const words = what ? `: ${what.replaceAll(/\s+/g, ' ').slice(0, 200)}` : '';
  return plain(`${name.replace(/^(agent|tool):/, '')} ${has}${words}`);
}

/** For whoever talks with the agent that gave it: that it begins, asks and ends. */
export function taskNote({ type, data }: Event): string | null {
  const task = data as unknown as Told;
  if (type === 'task.created') return taskLine({ ...task, status: 'pending' });
  return task.status === 'pending' || task.status === 'running' ? null : taskLine(task);
}

function paramsOf({ words }: Pick<Surroundings, 'words'>): { taskId: string } {
  const taskId = words[0]!;
  if (!ID.test(taskId))
    throw new UsageError(`"${taskId}" is no id of a task`, '`troupe tasks list` shows them.');
  return { taskId };
}
