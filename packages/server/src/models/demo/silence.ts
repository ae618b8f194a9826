import type { Reply } from './reply.ts';
import type { Situation } from './situation.ts';

const SILENT: Reply = { note: '' };
const QUIET =
  /\b(?:(?:be|keep|stay|remain) (?:quiet|silent)|say nothing|shut up|(?:don't|do not|no need to|without) (?:reply|answer|respond)(?:ing)?)\b/i;
const EVERYONE = new Set(['all', 'everyone', 'everybody', 'here', 'agents']);

/**
 * Nothing to say where nothing was said. In a space also: when asked to be quiet, when the message begins by
 * addressing somebody else, and when an agent speaks without addressing this one (two demo agents would go on
 * answering each other until the chain depth stops them).
 */
export function silence({ request, heard, answered }: Situation): Reply | undefined {
  if (!heard || answered) return SILENT;
  if (!request.tools.some((tool) => tool.name === 'send_message')) return undefined;
  if (QUIET.test(heard.plain)) return SILENT;
  if (isAddressed(heard.plain, request.system)) return undefined;
  return heard.plain.startsWith('@') || heard.senderType === 'agent' ? SILENT : undefined;
}

/** The name that the system prompt gives the agent: `Name: Ada` or `You are Ada`. */
function ownName(system: string): string | undefined {
  const found =
    /^[ \t>*-]{0,10}(?:your )?name[ \t]{0,5}[:=][ \t]{0,5}([^\n]{1,100})/im.exec(system) ??
    /\b[Yy]ou are (?:an agent (?:called|named) )?("[^"\n]{1,100}"|\p{Lu}[^\n.,;:(]{0,99})/u.exec(system);
  const name = found?.[1]?.replace(/["*`]/g, '').trim();
  return name || undefined;
}

/** By `@name`, by `@first-name`, or with everybody. */
export function isAddressed(text: string, system: string): boolean {
  const name = ownName(system);
  const own = name === undefined ? [] : [squeezed(name), squeezed(name.split(/\s+/)[0]!)];
  for (const mention of text.matchAll(/(?<![^\s(,])@(\S{1,100})/g)) {
    const word = squeezed(mention[1]!);
    if (EVERYONE.has(word) || own.includes(word)) return true;
  }
  return false;
}

/** `@demo-agent,` and `Demo Agent` are the same. */
function squeezed(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
