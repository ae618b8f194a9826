import type { AgentDefinition, JsonObject } from '@troupe/protocol';
import { inWords, Refusal } from '../../base/index.ts';
import type { ToolRow } from '../../store/index.ts';
import { builtInOwner, type CapabilityEntry } from '../capabilities/index.ts';

type Given = AgentDefinition['capabilities'];

/** A capability that an agent has, with what is set for it. */
export interface Carried {
  entry: CapabilityEntry;
  config: JsonObject;
}
export type Find = (id: string) => CapabilityEntry | undefined;

/**
 * All that an agent has by what it carries, each once: in its order, and before each what that builds on. What is carried and
 * built on as well keeps what the agent set for it. One that is not known is refused, never left out.
 */
export function allOf(carried: Given, find: Find): Carried[] {
  const set = new Map(carried.map(({ id, config }) => [id, config]));
  const all = new Map<string, Carried>();
  const add = (entry: CapabilityEntry) => {
    if (all.has(entry.id)) return;
    for (const id of entry.includes ?? []) add(find(id)!);
    all.set(entry.id, { entry, config: set.get(entry.id) ?? {} });
  };
  for (const entry of entriesOf(carried, find)) add(entry);
  return [...all.values()];
}

function entriesOf(carried: Given, find: Find): CapabilityEntry[] {
  const unknown = carried.filter(({ id }) => !find(id)).map(({ id }) => id);
  if (unknown.length > 0) {
    throw new Refusal('invalid', 'capability_unknown', `There is no capability ${quoted(unknown)}.`, {
      hint: 'GET /v1/capabilities lists them all.',
      issues: issuesOf(carried, unknown, 'is not known'),
    });
  }
  return carried.map(({ id }) => find(id)!);
}

/** Whether an agent may be given these. What it carried before may stay when it becomes deprecated. */
export function checkCarried(carried: Given, before: Given, find: Find): void {
  const entries = entriesOf(carried, find);
  const had = new Set(before.map(({ id }) => id));
  const unavailable = entries
    .filter(({ id, status }) => status === 'coming_soon' || (status === 'deprecated' && !had.has(id)))
    .map(({ id }) => id);
  if (unavailable.length > 0) {
    throw new Refusal(
      'invalid',
      'capability_unavailable',
      `The capability ${quoted(unavailable)} cannot be added.`,
      {
        hint: 'Those that can have the status "available" in GET /v1/capabilities.',
        issues: issuesOf(carried, unavailable, 'is not available'),
      },
    );
  }
  const twice = carried.filter(({ id }, index) => carried.findIndex((other) => other.id === id) !== index);
  if (twice.length > 0) {
    throw new Refusal(
      'invalid',
      'invalid_request',
      `An agent carries a capability once: ${quoted(twice.map(({ id }) => id))} is there more than once.`,
      { issues: twice.map(({ id }) => ({ path: 'capabilities', message: `has "${id}" more than once` })) },
    );
  }
  checkConfigs(carried, entries);
}

/** A model calls tools by their names: each name must mean one. */
export function checkTools(capabilities: readonly Carried[], tools: readonly ToolRow[]): void {
  const owners = new Map<string, string>();
  const claim = (name: string, owner: string) => {
    const other = owners.get(name.toLowerCase());
    if (other !== undefined) {
      throw new Refusal(
        'invalid',
        'tool_taken',
        other === owner
          ? `The tool "${name}" is named twice.`
          : `There are two tools "${name}": of ${other} and of ${owner}.`,
        {
          hint: 'Leave one of them out.',
        },
      );
    }
    owners.set(name.toLowerCase(), owner);
  };
  for (const { entry } of capabilities)
    for (const { name } of entry.tools) claim(name, `the capability "${entry.id}"`);
  for (const [index, { name, agent_id }] of tools.entries()) {
    const owner = builtInOwner(name);
    if (owner !== undefined) throw builtInTaken(name, owner, index);
    claim(name, agent_id === null ? 'the project' : 'the agent');
  }
}

function builtInTaken(name: string, owner: string, index: number): Refusal {
  const message = `has the name of the built-in tool "${name.toLowerCase()}", which ${owner}`;
  return new Refusal('invalid', 'tool_taken', `The tool "${name}" ${message}.`, {
    hint: 'Create the tool again under another name, and give the agent that one.',
    issues: [{ path: `tools.${index}`, message }],
  });
}

/** Only what an agent has can wait for approval, and not what somebody outside answers: that one can refuse by themselves. */
export function checkApprovals(
  approvals: readonly string[],
  capabilities: readonly Carried[],
  tools: readonly ToolRow[],
): void {
  const outside = new Set(
    tools.filter(({ kind }) => kind === 'client' || kind === 'ui').map(({ name }) => name),
  );
  const known = new Set([
    ...capabilities.flatMap(({ entry }) => entry.tools.map(({ name }) => name)),
    ...tools.map(({ name }) => name),
  ]);
  approvals.forEach((name, index) => {
    const why = outside.has(name)
      ? 'is answered outside already'
      : known.has(name)
        ? null
        : 'is no tool of it';
    if (why === null) return;
    throw new Refusal(
      'invalid',
      'approval_unknown',
      `The agent cannot ask for approval of "${name}": it ${why}.`,
      {
        hint: 'GET /v1/agents/{agentId}/preview lists the tools that the agent has.',
        issues: [{ path: `approvals.${index}`, message: why }],
      },
    );
  });
}

function checkConfigs(carried: Given, entries: CapabilityEntry[]): void {
  const issues = carried.flatMap(({ config }, index) => {
    const { error } = entries[index]!.config.safeParse(config, { error: inWords });
    return (error?.issues ?? []).map((issue) => ({
      path: ['capabilities', index, 'config', ...issue.path].join('.'),
      message: issue.message,
    }));
  });
  const [first] = issues;
  if (first) {
    const detail = `The request is not valid: "${first.path}" ${first.message}.`;
    throw new Refusal('invalid', 'invalid_request', detail, { issues });
  }
}

function issuesOf(carried: Given, ids: string[], message: string) {
  return carried.flatMap(({ id }, index) =>
    ids.includes(id) ? [{ path: `capabilities.${index}.id`, message: `"${id}" ${message}` }] : [],
  );
}

function quoted(words: string[]): string {
  return words.map((word) => `"${word}"`).join(', ');
}
