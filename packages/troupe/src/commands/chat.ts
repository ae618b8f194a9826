import type { Agent } from '@troupe/protocol';
import { type Session, TroupeClientError, TurnFailedError } from '@troupe/sdk';
import { InSession, tell } from '../failure.ts';
import { Approving, Lines } from './approving.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent } from './find-agent.ts';
import { modelIdOf } from './find-model.ts';
import { Meanwhile } from './meanwhile.ts';
import { Writing } from './writing.ts';

/** What shells tell of a program that Ctrl-C ended. */
const INTERRUPTED = 130;
/** The input ended before it answered what the run waits for. */
const UNSETTLED = 1;

/** One message and its answer, or a conversation line by line. What the agent writes is shown while it writes it. */
export const chat: Command = async (given) => {
  const { troupe, terminal, words, options } = given;
  const agent = await findAgent(troupe, words[0]!);
  const session = await openSession(given, agent);
  const goOn = `troupe chat ${nameOf(agent)} --session ${session.id}`;
  const message = words.slice(1).join(' ');
  if (message !== '') {
    const code = await say(given, session, message, goOn, null, null).catch((error: unknown) => {
      throw comeBack(error, agent, session, goOn);
    });
    if (code === 0 && !options.json) terminal.err(`Go on with: ${goOn}\n`);
    return code;
  }

  if (terminal.isWatched) terminal.err(`${agent.name}. An empty line ends it; the session stays.\n`);
  let code = 0;
  const lines = new Lines(terminal.lines('> '));
  // A question takes the next line, also of what is piped in: only "y" and "yes" approve.
  const asked = options.json ? null : lines;
  const meanwhile = options.json ? null : new Meanwhile(session, terminal, agent.name);
  try {
    await meanwhile?.begin();
    for (let line = await lines.take(); line !== null && line.trim() !== ''; line = await lines.take()) {
      try {
        code = await say(given, session, line, goOn, asked, meanwhile);
        if (code === INTERRUPTED) return code;
      } catch (error) {
        // A turn that failed does not end the conversation: it is taken up again or left there.
        if (!(error instanceof TurnFailedError)) throw comeBack(error, agent, session, goOn);
        const asJson = options.json ?? false;
        code = tell(asJson ? new InSession(error, session.id, []) : error, terminal, { asJson });
      } finally {
        meanwhile?.resume();
      }
    }
  } finally {
    meanwhile?.stop();
    void lines.close();
  }
  if (!options.json) terminal.err(`Go on with: ${goOn}\n`);
  return code;
};

/** What went wrong, with the session that it went wrong in. */
function comeBack(error: unknown, agent: Agent, session: Session, goOn: string): unknown {
  if (!(error instanceof TroupeClientError)) return error;
  const hasFailed = error instanceof TurnFailedError && error.turn.status === 'failed';
  return new InSession(error, session.id, [
    ...(hasFailed ? [`Try it again with: troupe sessions retry ${nameOf(agent)} ${session.id}`] : []),
    `Go on with: ${goOn}`,
  ]);
}

/** As a word that every shell takes. */
function nameOf({ name, id }: Agent): string {
  return /^[\w.-]+$/.test(name) && !name.startsWith('-') ? name : id;
}

async function openSession({ troupe, options }: Surroundings, agent: Agent): Promise<Session> {
  if (options.session === undefined)
    return troupe.open(agent.id, options.model ? { modelId: await modelIdOf(troupe, options.model) } : {});
  const session = troupe.session(agent.id, options.session);
  await session.get(); // Said before anything is typed, where there is none.
  return session;
}

async function say(
  { troupe, terminal, options }: Surroundings,
  session: Session,
  text: string,
  goOn: string,
  lines: Lines | null,
  meanwhile: Meanwhile | null,
): Promise<number> {
  meanwhile?.pause();
  const interrupt = new AbortController();
  const undo = terminal.onInterrupt(() => interrupt.abort());
  const writing = options.json ? null : new Writing(terminal);
  const left = new AbortController();
  const leave = { goOn, now: () => left.abort() };
  const approving = options.json ? null : new Approving(troupe, terminal, lines, leave);
  try {
    const { model } = options;
    const modelId = model && options.session ? { modelId: await modelIdOf(troupe, model) } : {};
    const turn = await session.sendAndWait(
      { content: { text }, ...modelId },
      {
        signal: AbortSignal.any([interrupt.signal, left.signal]),
        onItem: (item, posted) => {
          meanwhile?.leaveOut(posted.run?.id);
          writing?.show(item, posted);
          approving?.hear(item, posted.run?.id);
        },
      },
    );
    writing?.finish(turn.text);
    // One line each, so that a conversation can be read as it goes.
    if (options.json) terminal.out(`${JSON.stringify({ sessionId: session.id, ...turn })}\n`);
    return 0;
  } catch (error) {
    if (left.signal.aborted) return UNSETTLED;
    if (!interrupt.signal.aborted) throw error;
    writing?.stop();
    const message = 'The agent goes on without you.';
    const said = { error: { code: 'interrupted', message, sessionId: session.id } };
    terminal.err(options.json ? `${JSON.stringify(said)}\n` : `\n${message} Come back to it with: ${goOn}\n`);
    return INTERRUPTED;
  } finally {
    writing?.stop();
    approving?.stop();
    undo();
  }
}
