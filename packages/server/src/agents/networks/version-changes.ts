import type { Change, Json, JsonObject, NetworkDefinition, NetworkSnapshot } from '@troupe/protocol';
import { diff } from '../diff.ts';

interface Version {
  definition: NetworkDefinition;
  snapshot: NetworkSnapshot;
}

/**
 * What two versions differ in. Agents, tools and routes are told by their keys, not by their places in a list. What a definition only
 * refers to (tools, models, prompts of agents of the project) changes by itself: that stands under `$.compiled`.
 */
export function versionChanges(from: Version, to: Version): Change[] {
  return diff(documentOf(from), documentOf(to));
}

function documentOf({ definition, snapshot }: Version): Json {
  return { ...keyed(definition), compiled: compiledOf(definition, snapshot) };
}

function keyed({ tools, agents, ...rest }: NetworkDefinition): JsonObject {
  const document = {
    ...rest,
    tools: byKey(tools),
    agents: byKey(
      agents.map((agent) => ({ ...agent, tools: asSet(agent.tools), routes: asSet(agent.routes) })),
    ),
  };
  return document as unknown as JsonObject;
}

function compiledOf({ agents }: NetworkDefinition, { tools, network }: NetworkSnapshot): JsonObject {
  const borrowing = new Set(agents.filter(({ prompt }) => prompt === '').map(({ key }) => key));
  const compiled = {
    // What the definition says of them stands there already.
    tools: Object.fromEntries(
      tools.map(({ name, description: _, inputSchema: __, config, ...tool }) => {
        const { params: ___, ...own } = config;
        return [name, { ...tool, config: own }];
      }),
    ),
    schemas: Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema])),
    models: Object.fromEntries(network.agents.map(({ key, models }) => [key, models])),
    prompts: Object.fromEntries(
      network.agents.filter(({ key }) => borrowing.has(key)).map(({ key, prompt }) => [key, prompt]),
    ),
  };
  return compiled as unknown as JsonObject;
}

function byKey<Entry extends { key: string }>(entries: readonly Entry[]): Record<string, Omit<Entry, 'key'>> {
  return Object.fromEntries(entries.map(({ key, ...entry }) => [key, entry]));
}

function asSet(keys: readonly string[]): Record<string, true> {
  return Object.fromEntries(keys.map((key) => [key, true]));
}
