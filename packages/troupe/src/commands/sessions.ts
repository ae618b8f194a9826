import { sessionStatus } from '@troupe/protocol';
import type { Session } from '@troupe/sdk';
import { json, MORE, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent, ID } from './find-agent.ts';
import { show } from './show.ts';
import { eventLine, everything, messagesAsText, PAGE } from './thread.ts';

/** What shells tell of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

export const sessions: Record<string, Command> = {
  async list({ troupe, terminal, words, options }) {
    const agent = await findAgent(troupe, words[0]!);
    const { data, nextCursor } = await troupe.sessions.list({
      params: { agentId: agent.id },
      query: {
        limit: limitOf(options),
        ...(options.status ? { status: oneOf('status', options.status, sessionStatus.options) } : {}),
      },
    });
    terminal.out(options.json ? json(data) : table(data, ['id', 'status', 'title', 'createdAt']));
    if (nextCursor) terminal.err(MORE);
  },
  async show(given) {
    show(given, await (await find(given)).get());
  },
  async messages(given) {
    const session = await find(given);
    const all = await everything((after) => session.messages({ after, limit: PAGE }));
    given.terminal.out(given.options.json ? json(all) : messagesAsText(all));
  },
  async events(given) {
    const session = await find(given);
    if (given.options.follow) return follow(given, session);
    const all = await everything((after) => session.events({ after, limit: PAGE }));
    given.terminal.out(
      given.options.json ? json(all) : table(all, ['sequence', 'createdAt', 'type', 'data']),
    );
  },
  async cancel(given) {
    show(given, await (await find(given)).cancel());
  },
  async retry(given) {
    show(given, await (await find(given)).retry());
  },
  async fork(given) {
    const { troupe, words, options } = given;
    const messageId = idOf(words[2]!, 'a message', '`troupe sessions messages … --json` shows them.');
    const { agentId, id: sessionId } = await find(given);
    const body = { messageId, ...(options.title === undefined ? {} : { title: options.title }) };
    show(given, await troupe.sessions.fork({ params: { agentId, sessionId }, body }));
  },
  async delete(given) {
    const session = await find(given);
    await session.delete();
    given.terminal.out(given.options.json ? json({ id: session.id }) : `${session.id} is deleted\n`);
  },
};

/** Until Ctrl-C: a session is never over. */
async function follow({ terminal, options }: Surroundings, session: Session): Promise<number> {
  const interrupt = new AbortController();
  const undo = terminal.onInterrupt(() => interrupt.abort());
  try {
    for await (const item of session.stream({ signal: interrupt.signal }))
      if (item.kind === 'event') terminal.out(eventLine(item.event, options.json ?? false));
    return 0;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    return INTERRUPTED;
  } finally {
    undo();
  }
}

async function find({ troupe, words }: Surroundings): Promise<Session> {
  const id = idOf(words[1]!, 'a session', '`troupe sessions list <agent>` shows them.');
  const agent = await findAgent(troupe, words[0]!);
  return troupe.session(agent.id, id);
}

function idOf(given: string, what: string, hint: string): string {
  if (!ID.test(given)) throw new UsageError(`"${given}" is no id of ${what}`, hint);
  return given;
}
