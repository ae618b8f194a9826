import type { Json, JsonObject } from '@troupe/protocol';
import type { ModelTool } from '../../kernel/ports.ts';
import { clip } from './clip.ts';
import type { PlannedCall, Reply } from './reply.ts';
import { placeholder, properties, propertyNamed, required } from './schema.ts';
import type { Situation } from './situation.ts';

const ROLE = ['role', 'type', 'agent', 'agentType', 'agent_type', 'name', 'agentName', 'agent_name'];
const INSTRUCTION = [
  'instruction',
  'instructions',
  'task',
  'prompt',
  'goal',
  'message',
  'input',
  'description',
];
const ANYBODY = 'general';

interface Errand {
  role: string | undefined;
  instruction: string;
  background?: boolean;
}

/** Whoever is asked like this is no agent. */
const PERSON =
  /^(?:me|us|you|him|her|them|it|back|yourself|user|person|people|customer|caller|everyone|everybody|anyone|somebody|someone|a|an|the)$/i;
const ASK =
  /^(?:@\S{1,60} )?(?:please |can you |could you )?(?:ask|tell) (?:the |our |your )?@?([\p{L}_][\p{L}\p{N}_-]{0,99})(?: agent\b)?[,:]? (.+)$/iu;
const BACKGROUND = /,? ?\bin (?:the )?background\b/i;

/** What such a request tells somebody else to do is not for this agent: `delegate to researcher: call web_search {…}`. */
export function isErrand({ heard, tools }: Pick<Situation, 'heard' | 'tools'>): boolean {
  if (!heard || !tools.has('create_agent')) return false;
  return /^(?:@\S{1,60} )?(?:please )?delegate\b/i.test(heard.plain) || askedOf(heard.plain) !== undefined;
}

/**
 * `delegate to researcher: find X`, `delegate find X to the researcher`, several in one message, `in the background`; and
 * `ask the researcher to find X`.
 */
export function delegation({ heard, tools, toolsForbidden }: Situation): Reply | undefined {
  const tool = tools.get('create_agent');
  const asked = heard && tool && askedOf(heard.plain);
  const errands = asked ? [asked] : heard && errandsIn(heard.plain);
  if (!errands) return undefined;
  if (!tool) {
    const why = toolsForbidden
      ? 'I may not use tools in this step'
      : 'I have no tool to create other agents with';
    return { say: `I cannot delegate: ${why}.` };
  }
  const told = errands.filter((errand) => errand.instruction !== '');
  if (told.length === 0) {
    return {
      say: 'What shall I delegate? Write for example "delegate to researcher: find the tallest tree".',
    };
  }
  return { call: told.map((errand) => creation(tool, errand)) };
}

function errandsIn(text: string): Errand[] | undefined {
  const [before, ...parts] = text.split(/\bdelegate\b/i);
  // "Who would delegate?" and the like speak of it; a request has it at the start of the sentence.
  const asks = /(?:^|[.!?;:,] ?|\b(?:please|you|and|then|to|@\S{1,60}) )$/i.test(before!);
  return parts.length > 0 && asks ? parts.map(errand) : undefined;
}

function askedOf(text: string): Errand | undefined {
  const asked = ASK.exec(text.replace(BACKGROUND, ''));
  if (!asked || PERSON.test(asked[1]!)) return undefined;
  const background = BACKGROUND.test(text);
  return { role: asked[1]!, instruction: instructionIn(asked[2]!), background };
}

function errand(part: string): Errand {
  const background = BACKGROUND.test(part);
  return { ...errandIn(part.replace(BACKGROUND, '')), background };
}

function errandIn(part: string): Errand {
  const text = part.trim().replace(/(?:,| and| then|;| and then)$/i, '');
  const to =
    /^(?:(?:this|it|that) )?to (?:the |an? )?@?([\p{L}_][\p{L}\p{N}_:-]{0,99})(?: agent\b)?(.*)$/iu.exec(
      text,
    );
  if (to) return { role: to[1]!.replace(/[:-]+$/, ''), instruction: instructionIn(to[2]!) };
  const at = text.toLowerCase().lastIndexOf(' to ');
  const target = /^(?:the |an? )?@?([\p{L}_][\p{L}\p{N}_:-]{0,99})(?: agent)?[.!]?$/iu.exec(
    text.slice(at + 4),
  );
  if (at > 0 && target) return { role: target[1]!, instruction: instructionIn(text.slice(0, at)) };
  return { role: undefined, instruction: instructionIn(text) };
}

function instructionIn(text: string): string {
  return text
    .replace(/^[\s:,-]+/, '')
    .replace(/^to /i, '')
    .replace(/^[?.!]+$/, '')
    .trim();
}

function creation(tool: ModelTool, { role, instruction, background }: Errand): PlannedCall {
  const schema = tool.inputSchema;
  const known = properties(schema);
  const roleName = propertyNamed(schema, ROLE) ?? 'role';
  const given: [string, Json][] = [
    [roleName, roleValue(known.get(roleName), role)],
    [propertyNamed(schema, INSTRUCTION) ?? 'instruction', instruction],
  ];
  if (background && known.has('background')) given.push(['background', true]);
  for (const name of required(schema)) {
    if (given.some(([taken]) => taken === name)) continue;
    const value = ROLE.includes(name)
      ? (role ?? ANYBODY)
      : placeholder(known.get(name) ?? {}, clip(instruction, 60));
    given.push([name, value]);
  }
  return { name: tool.name, arguments: Object.fromEntries(given) };
}

/** The allowed value that is meant; what is not allowed is passed on, so that the tool says what is. */
function roleValue(property: JsonObject | undefined, role: string | undefined): Json {
  const allowed = Array.isArray(property?.enum)
    ? property.enum.filter((value): value is string => typeof value === 'string')
    : [];
  const wanted = (role ?? ANYBODY).toLowerCase();
  const meant =
    allowed.find((value) => value.toLowerCase() === wanted) ??
    allowed.find((value) => value.toLowerCase().endsWith(`:${wanted}`));
  return meant ?? role ?? allowed[0] ?? ANYBODY;
}
