import type { Reply } from './reply.ts';
import type { Situation } from './situation.ts';
import { knownName } from './told-name.ts';
import { toolList } from './tool-list.ts';
import { VOICES } from './voice.ts';

const GREETING = /^(?:@\S{1,60} )?(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)\b/i;
const THANKS = /^(?:@\S{1,60} )?(?:thanks|thank you|thx|cheers)\b/i;

export function courtesy(situation: Situation): Reply | undefined {
  const plain = situation.heard?.plain ?? '';
  const name = knownName(situation);
  const to = name === undefined ? '' : `, ${name}`;
  if (THANKS.test(plain)) return { say: `You are welcome${to}.` };
  return GREETING.test(plain) ? { say: `Hello${to}! ${abilities(situation)}` } : undefined;
}

export function help(situation: Situation): Reply {
  return { say: `I am a rule-based demo and have no rule for that. ${abilities(situation)}` };
}

/** What every agent has in a space: nothing that somebody there would ask for. */
const OF_SPACES =
  /^(?:send_message|enter_space|read_messages|absorb_run|stop_run|get_my_runs|(?:set|get|delete)_(?:memories|goals|plans))$/;

/** Only what this agent can really do with the tools it has. */
function abilities({ request }: Situation): string {
  const inSpace = request.tools.some((tool) => tool.name === 'send_message');
  const tools = inSpace ? request.tools.filter((tool) => !OF_SPACES.test(tool.name)) : request.tools;
  const has = (name: string) => tools.some((tool) => tool.name === name);
  const can = ['do sums ("How much is 2+2?")'];
  // Each run in a space begins without those before it.
  can.push(inSpace ? 'say who I am ("What are you?")' : 'remember your name ("My name is Ada")');
  if (has('current_time') || has('get_current_time')) can.push('tell the time ("What time is it?")');
  const example = tools.find((tool) => !VOICES.has(tool.name));
  if (example) can.push(`call a tool ("call ${example.name} {}")`);
  if (has('create_agent')) can.push('delegate ("delegate to researcher: what time is it?")');
  const list = `${can.slice(0, -1).join(', ')} and ${can.at(-1)}`;
  const more = inSpace ? '' : ' Ask "what are you?" to learn more.';
  return `I can ${list}.${tools.length > 0 ? ` ${toolList(tools)}` : ''}${more}`;
}
