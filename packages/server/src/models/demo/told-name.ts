import type { Heard } from './heard.ts';
import { heard as hear } from './heard.ts';
import type { Reply } from './reply.ts';
import type { Situation } from './situation.ts';

const ASKED = /\b(?:what(?:'s| is|s) my name|who am i|(?:know|remember|recall|tell me|say) my name)\b/i;
const TOLD = /\b(?:my name is|my name's|call me|i am called|i'm called) (.{1,80})/i;
/** Words that follow "call me" without being a name. */
const NO_NAME = new Set([
  'a',
  'an',
  'the',
  'not',
  'back',
  'later',
  'when',
  'if',
  'what',
  'unknown',
  'on',
  'at',
]);

/** Remembers nothing: the conversation does. In a shared one, everybody has a name of their own. */
export function toldName(situation: Situation): Reply | undefined {
  const { heard } = situation;
  if (!heard) return undefined;
  const told = nameIn(heard);
  if (ASKED.test(heard.plain)) {
    const name = told ?? knownName(situation);
    if (name !== undefined) return { say: `Your name is ${name}.` };
    return { say: 'You have not told me your name yet. Write "my name is …" and I will remember it.' };
  }
  if (told === undefined) return undefined;
  const inSpace = situation.request.tools.some((tool) => tool.name === 'send_message');
  return { say: `Nice to meet you, ${told}.${inSpace ? '' : ' I will remember your name.'}` };
}

/** What the speaker said last about their name; else what the door calls them. */
export function knownName({ request, heard }: Situation): string | undefined {
  const { messages } = request;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!;
    if (message.role !== 'user') continue;
    const earlier = hear(message.text, message.name);
    const name = earlier.sender === heard?.sender ? nameIn(earlier) : undefined;
    if (name !== undefined) return name;
  }
  return heard?.sender;
}

/** One word, and the capitalised ones behind it. */
function nameIn({ plain }: Heard): string | undefined {
  const words = TOLD.exec(plain)?.[1]?.split(' ') ?? [];
  const name: string[] = [];
  for (const word of words.slice(0, 4)) {
    const bare = /^["']?([\p{L}][\p{L}\p{M}'-]*)/u.exec(word)?.[1];
    if (bare === undefined || (name.length > 0 && !/^\p{Lu}/u.test(bare))) break;
    name.push(bare);
    if (bare !== word) break; // punctuation ends it
  }
  return name.length > 0 && !NO_NAME.has(name[0]!.toLowerCase()) ? name.join(' ') : undefined;
}
