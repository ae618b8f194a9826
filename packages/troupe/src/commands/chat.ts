import { createInterface } from 'node:readline/promises';
import { type Session, type StreamItem, TurnFailedError } from '@troupe/sdk';
import { json } from '../output.ts';
import { wordAt } from '../parse.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent } from './find-agent.ts';

/** One message and its answer, or a conversation line by line. What the agent writes is shown while it writes it. */
export const chat: Command = async (given) => {
  const { troupe, terminal, words, options } = given;
  const agent = await findAgent(troupe, wordAt(words, 0, 'the agent'));
  const session = options.session
    ? troupe.session(agent.id, options.session)
    : await troupe.open(agent.id, options.model ? { modelId: options.model } : {});
  const message = words.slice(1).join(' ');
  if (message !== '') return say(given, session, message);

  terminal.err(`${agent.name}, session ${session.id}. An empty line ends it; the session stays.\n`);
  const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
  try {
    lines.prompt();
    for await (const line of lines) {
      if (line.trim() === '') break;
      // A turn that failed does not end the conversation.
      await say(given, session, line).catch((error: unknown) => {
        if (!(error instanceof TurnFailedError)) throw error;
        terminal.err(`error: ${error.message}\n`);
      });
      lines.prompt();
    }
  } finally {
    lines.close();
  }
};

async function say({ terminal, options }: Surroundings, session: Session, message: string): Promise<void> {
  let shown = '';
  const onItem = (item: StreamItem) => {
    if (options.json) return;
    if (item.kind === 'delta' && item.delta.type === 'message.delta') {
      const { offset, text } = item.delta;
      // Only what continues what is shown; the whole comes at the end.
      if (offset > shown.length) return;
      const fresh = text.slice(shown.length - offset);
      terminal.out(fresh);
      shown += fresh;
    } else if (item.kind === 'event' && item.event.type === 'tool.started') {
      terminal.err(`  [${String(item.event.data.tool ?? item.event.data.name ?? 'tool')}]\n`);
    } else if (item.kind === 'event' && item.event.type === 'step.generated') {
      if (shown !== '') terminal.out('\n');
      shown = '';
    }
  };
  let streamed = '';
  const turn = await session.sendAndWait(message, {
    onItem: (item) => {
      onItem(item);
      if (shown !== '') streamed = shown;
    },
  });
  if (options.json) terminal.out(json({ sessionId: session.id, ...turn }));
  else if (streamed !== turn.text) terminal.out(`${turn.text}\n`);
}
