import type { Agent } from '@troupe/protocol';
import { type Session, TurnFailedError } from '@troupe/sdk';
import type { Command, Surroundings } from './command.ts';
import { findAgent } from './find-agent.ts';
import { Writing } from './writing.ts';

/** What shells tell of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** One message and its answer, or a conversation line by line. What the agent writes is shown while it writes it. */
export const chat: Command = async (given) => {
  const { troupe, terminal, words, options } = given;
  const agent = await findAgent(troupe, words[0]!);
  const session = await openSession(given, agent);
  const goOn = `troupe chat ${/^[\w.-]+$/.test(agent.name) ? agent.name : agent.id} --session ${session.id}`;
  const message = words.slice(1).join(' ');
  if (message !== '') {
    const code = await say(given, session, message, goOn);
    if (code === 0 && terminal.isWatched && !options.json) terminal.err(`Go on with: ${goOn}\n`);
    return code;
  }

  if (terminal.isWatched) terminal.err(`${agent.name}. An empty line ends it; the session stays.\n`);
  let code = 0;
  for await (const line of terminal.lines('> ')) {
    if (line.trim() === '') break;
    try {
      code = await say(given, session, line, goOn);
      if (code === INTERRUPTED) return code;
    } catch (error) {
      // A turn that failed does not end the conversation: it is taken up again or left there.
      if (!(error instanceof TurnFailedError)) throw error;
      terminal.err(`error: ${error.message}\n`);
      code = 1;
    }
  }
  terminal.err(`Go on with: ${goOn}\n`);
  return code;
};

async function openSession({ troupe, options }: Surroundings, agent: Agent): Promise<Session> {
  if (options.session === undefined)
    return troupe.open(agent.id, options.model ? { modelId: options.model } : {});
  const session = troupe.session(agent.id, options.session);
  await session.get(); // Said before anything is typed, where there is none.
  return session;
}

async function say(
  { terminal, options }: Surroundings,
  session: Session,
  text: string,
  goOn: string,
): Promise<number> {
  const interrupt = new AbortController();
  const undo = terminal.onInterrupt(() => interrupt.abort());
  const writing = options.json ? null : new Writing(terminal);
  try {
    const turn = await session.sendAndWait(
      { content: { text }, ...(options.model && options.session ? { modelId: options.model } : {}) },
      { signal: interrupt.signal, onItem: (item, posted) => writing?.show(item, posted) },
    );
    writing?.finish(turn.text);
    // One line each, so that a conversation can be read as it goes.
    if (options.json) terminal.out(`${JSON.stringify({ sessionId: session.id, ...turn })}\n`);
    return 0;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    writing?.stop();
    terminal.err(`\nThe agent goes on without you. Come back to it with: ${goOn}\n`);
    return INTERRUPTED;
  } finally {
    writing?.stop();
    undo();
  }
}
