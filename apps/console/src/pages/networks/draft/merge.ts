import { type AgentDefinition, agentOf, type Definition, sameKey } from './definition.ts';
import { same } from './same.ts';

/**
 * What I changed, on top of what somebody else made of the same document meanwhile. Field by field of every agent; of lists of keys, what
 * each of us added and took away. Where both changed the same field, mine is taken.
 */
export function merge(base: Definition, mine: Definition, theirs: Definition): Definition {
  const merged: Definition = {
    ...fields(base, mine, theirs),
    tools: entries(base.tools, mine.tools, theirs.tools, fields),
    agents: entries(base.agents, mine.agents, theirs.agents, agentFields),
  };
  // A route that one of us drew to an agent that the other removed leads nowhere; so with tools.
  const isTool = (key: string) => merged.tools.some((tool) => sameKey(tool.key, key));
  return {
    ...merged,
    agents: merged.agents.map((agent) => ({
      ...agent,
      routes: agent.routes.filter((key) => agentOf(merged, key)),
      tools: agent.tools.filter(isTool),
    })),
  };
}

function fields<Whole extends object>(base: Whole, mine: Whole, theirs: Whole): Whole {
  const names = Object.keys({ ...theirs, ...mine }) as (keyof Whole)[];
  const chosen = names.map((name) => [name, same(base[name], mine[name]) ? theirs[name] : mine[name]]);
  return Object.fromEntries(chosen) as Whole;
}

function agentFields(base: AgentDefinition, mine: AgentDefinition, theirs: AgentDefinition): AgentDefinition {
  return {
    ...fields(base, mine, theirs),
    tools: keys(base.tools, mine.tools, theirs.tools),
    routes: keys(base.routes, mine.routes, theirs.routes),
  };
}

function keys(base: string[], mine: string[], theirs: string[]): string[] {
  const has = (list: string[], key: string) => list.some((one) => sameKey(one, key));
  const kept = theirs.filter((key) => !has(base, key) || has(mine, key));
  const added = mine.filter((key) => !has(base, key) && !has(kept, key));
  return [...kept, ...added];
}

function entries<Entry extends { key: string }>(
  base: Entry[],
  mine: Entry[],
  theirs: Entry[],
  both: (base: Entry, mine: Entry, theirs: Entry) => Entry,
): Entry[] {
  const find = (list: Entry[], key: string) => list.find((one) => sameKey(one.key, key));
  const kept = theirs.flatMap((their) => {
    const before = find(base, their.key);
    const my = find(mine, their.key);
    if (before && !my) return [];
    return [my ? both(before ?? their, my, their) : their];
  });
  // What they removed stays removed, unless I changed it.
  const added = mine.filter((my) => {
    const before = find(base, my.key);
    return !find(theirs, my.key) && (!before || !same(before, my));
  });
  return [...kept, ...added];
}
