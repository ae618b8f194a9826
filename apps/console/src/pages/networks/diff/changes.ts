import type { Api } from '@troupe/sdk';
import {
  type AgentDefinition,
  BLANK_AGENT,
  type Definition,
  positionsOf,
  sameKey,
} from '../draft/definition.ts';
import { same } from '../draft/same.ts';

// What differs between two documents of a network, as a person would tell it.

export type Fact =
  | { kind: 'keys'; label: string; added: string[]; removed: string[] }
  | { kind: 'value'; label: string; from: string; to: string }
  | { kind: 'text'; label: string; from: string; to: string };

export interface Changed {
  what: 'agent' | 'tool' | 'network' | 'layout';
  name: string;
  how: 'added' | 'removed' | 'changed';
  facts: Fact[];
}

/** What ids stand for, where it is known. */
export interface Names {
  agent: (id: string) => string;
  model: (id: string) => string;
}

export function changesBetween(before: Definition, after: Definition, names: Names): Changed[] {
  const agents = pairs(before.agents, after.agents).flatMap(([from, to]) =>
    changed('agent', from, to, agentFacts(from ?? blank(to!.key), to ?? blank(from!.key), names)),
  );
  const tools = pairs(before.tools, after.tools).flatMap(([from, to]) =>
    changed('tool', from, to, toolFacts(from, to)),
  );
  const network = networkFacts(before, after);
  const moved = !same(positionsOf(before), positionsOf(after));
  return [
    ...agents,
    ...tools,
    ...(network.length > 0
      ? [{ what: 'network' as const, name: after.name, how: 'changed' as const, facts: network }]
      : []),
    ...(moved ? [{ what: 'layout' as const, name: 'Layout', how: 'changed' as const, facts: [] }] : []),
  ];
}

function changed<Entry extends { key: string }>(
  what: 'agent' | 'tool',
  from: Entry | undefined,
  to: Entry | undefined,
  facts: Fact[],
): Changed[] {
  if (from && to && facts.length === 0) return [];
  return [{ what, name: (to ?? from)!.key, how: from ? (to ? 'changed' : 'removed') : 'added', facts }];
}

function pairs<Entry extends { key: string }>(
  before: Entry[],
  after: Entry[],
): [Entry | undefined, Entry | undefined][] {
  const find = (list: Entry[], key: string) => list.find((one) => sameKey(one.key, key));
  return [
    ...after.map((to): [Entry | undefined, Entry] => [find(before, to.key), to]),
    ...before.filter((from) => !find(after, from.key)).map((from): [Entry, undefined] => [from, undefined]),
  ];
}

const blank = (key: string): AgentDefinition => ({ key, ...BLANK_AGENT });

function agentFacts(from: AgentDefinition, to: AgentDefinition, names: Names): Fact[] {
  const named = (id: string | null, name: (id: string) => string) => (id === null ? 'none' : name(id));
  return [
    ...value('Key', from.key, to.key),
    ...value('Name', from.displayName ?? '', to.displayName ?? ''),
    ...value('Runs begin here', yes(from.isDefault), yes(to.isDefault)),
    ...value('May respond', yes(from.allowRespond), yes(to.allowRespond)),
    ...value('May give tasks', yes(from.allowTaskGroup), yes(to.allowTaskGroup)),
    ...keys('Routes', from.routes, to.routes),
    ...keys('Tools', from.tools, to.tools),
    ...value('Agent of the project', named(from.agentId, names.agent), named(to.agentId, names.agent)),
    ...value('Model', named(from.modelId, names.model), named(to.modelId, names.model)),
    ...text('Description', from.description, to.description),
    ...text('Prompt', from.prompt, to.prompt),
    ...json('Metadata', from.metadata, to.metadata),
  ];
}

type Tool = Api.NetworkToolDefinition;
function toolFacts(from: Tool | undefined, to: Tool | undefined): Fact[] {
  return [
    ...text('Description', from?.description ?? '', to?.description ?? ''),
    ...json('Parameters', from?.params ?? null, to?.params ?? null),
  ];
}

function networkFacts(from: Definition, to: Definition): Fact[] {
  const limits = Object.keys({ ...from.policy, ...to.policy }) as (keyof Definition['policy'])[];
  const { layout: _, ...before } = from.metadata;
  const { layout: __, ...after } = to.metadata;
  return [
    ...value('Name', from.name, to.name),
    ...text('Description', from.description ?? '', to.description ?? ''),
    ...limits.flatMap((limit) =>
      value(`Limit: ${limit}`, String(from.policy[limit]), String(to.policy[limit])),
    ),
    ...json('Response: schema', from.response.schema, to.response.schema),
    ...text('Response: guidance', from.response.guidance ?? '', to.response.guidance ?? ''),
    ...json('Response: example', from.response.example, to.response.example),
    ...json('Summaries', from.logPolicy, to.logPolicy),
    ...json('Metadata', before, after),
  ];
}

const yes = (is: boolean) => (is ? 'yes' : 'no');

function value(label: string, from: string, to: string): Fact[] {
  return from === to ? [] : [{ kind: 'value', label, from, to }];
}

function text(label: string, from: string, to: string): Fact[] {
  return from === to ? [] : [{ kind: 'text', label, from, to }];
}

function json(label: string, from: unknown, to: unknown): Fact[] {
  if (same(from, to)) return [];
  const written = (one: unknown) => (one === null ? '' : JSON.stringify(one, null, 2));
  return [{ kind: 'text', label, from: written(from), to: written(to) }];
}

function keys(label: string, from: string[], to: string[]): Fact[] {
  const has = (list: string[], key: string) => list.some((one) => sameKey(one, key));
  const added = to.filter((key) => !has(from, key));
  const removed = from.filter((key) => !has(to, key));
  return added.length + removed.length === 0 ? [] : [{ kind: 'keys', label, added, removed }];
}
