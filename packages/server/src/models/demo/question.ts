import type { Reply } from './reply.ts';
import type { Situation } from './situation.ts';

const ASK =
  /^(?:please )?ask (?:me|us|them|back|(?:the |your )?(?:user|person|customer|caller))\b[\s,:]{1,5}(?:for )?(.{1,2000})$/i;

/** `ask me which colour`: a sub-agent asks whoever gave it the task. */
export function question({ heard, tools }: Situation): Reply | undefined {
  const asked = tools.has('ask_user') ? ASK.exec(heard?.plain ?? '')?.[1] : undefined;
  if (asked === undefined) return undefined;
  const text = `${asked[0]!.toUpperCase()}${asked.slice(1)}`.replace(/[.!?\s]{0,5}$/, '?');
  return { call: [{ name: 'ask_user', arguments: { question: text } }] };
}
