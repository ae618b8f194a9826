import type { AgentDefinition } from '@troupe/protocol';
import { Refusal } from '../base/index.ts';
import type { CapabilityEntry } from './capabilities/index.ts';

type Carried = AgentDefinition['capabilities'];
export type Find = (id: string) => CapabilityEntry | undefined;

/** The entries that an agent carries, in its order. One that is not known is refused, never left out. */
export function entriesOf(carried: Carried, find: Find): CapabilityEntry[] {
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
export function checkCarried(carried: Carried, before: Carried, find: Find): void {
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
  checkTools(entries);
  checkConfigs(carried, entries);
}

/** A model calls tools by their names: each name must mean one. */
function checkTools(entries: CapabilityEntry[]): void {
  const owners = new Map<string, string>();
  for (const { id, tools } of entries) {
    for (const { name } of tools) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        throw new Refusal(
          'invalid',
          'tool_taken',
          `The capabilities "${owner}" and "${id}" both bring a tool called "${name}".`,
          { hint: 'Leave one of them out.' },
        );
      }
      owners.set(name, id);
    }
  }
}

function checkConfigs(carried: Carried, entries: CapabilityEntry[]): void {
  const issues = carried.flatMap(({ config }, index) => {
    const { error } = entries[index]!.config.safeParse(config);
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

function issuesOf(carried: Carried, ids: string[], message: string) {
  return carried.flatMap(({ id }, index) =>
    ids.includes(id) ? [{ path: `capabilities.${index}.id`, message: `"${id}" ${message}` }] : [],
  );
}

function quoted(words: string[]): string {
  return words.map((word) => `"${word}"`).join(', ');
}
