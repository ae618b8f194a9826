import type { Reply } from './reply.ts';
import type { Situation } from './situation.ts';

const FIND = /^(?:please )?(?:find(?: out)?|look up|search(?: the web)?(?: for)?) (.{1,400})$/i;

/** `find the tallest tree`, where it can search. */
export function lookup({ heard, tools }: Situation): Reply | undefined {
  const wanted = tools.has('web_search') ? FIND.exec(heard?.plain ?? '')?.[1] : undefined;
  return wanted === undefined ? undefined : { call: [{ name: 'web_search', arguments: { query: wanted } }] };
}
