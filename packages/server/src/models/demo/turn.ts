import type { Reply } from './reply.ts';
import { isAddressed } from './silence.ts';
import type { Situation } from './situation.ts';

/** What a prompt may say for a conversation of several agents, in words that another model follows too. */
const LINE =
  /\bwhen it is your turn, say: "([^"\n]{1,500})"(?:,? (?:and|then|and then) hand over to @([^\s.,]{1,60}))?/i;

/** In a space, by whoever is addressed: what the prompt says for their turn, and whose turn it is then. */
export function turn({ request, heard }: Situation): Reply | undefined {
  if (!heard || !request.tools.some((tool) => tool.name === 'send_message')) return undefined;
  const line = LINE.exec(request.system);
  if (!line || !isAddressed(heard.plain, request.system)) return undefined;
  const [, said, next] = line;
  return { say: next ? `${said} @${next}, what do you say?` : said! };
}
