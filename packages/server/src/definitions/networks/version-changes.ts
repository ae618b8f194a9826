import type {
  Change,
  Json,
  JsonObject,
  NetworkDefinition,
  NetworkSnapshot,
  SnapshotParam,
  ToolParam,
} from '@troupe/protocol';
import { diffJson } from '../../base/index.ts';
import { fold } from './compile.ts';

interface Version {
  definition: NetworkDefinition;
  snapshot: NetworkSnapshot;
}

/**
 * What two versions differ in. Agents, tools and routes are told by their keys, not by their places in a list. What a definition only
 * refers to (tools, models, prompts of agents of the project) changes by itself: that stands under `$.compiled`.
 */
export function versionChanges(from: Version, to: Version): Change[] {
  return diffJson(documentOf(from), documentOf(to));
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

/** What the definition itself says stands there already, and not here. */
function compiledOf(
  { agents, tools: named }: NetworkDefinition,
  { tools, network }: NetworkSnapshot,
): JsonObject {
  const said = new Map(named.map((tool) => [fold(tool.key), tool]));
  const prompts = new Map(agents.map(({ key, prompt }) => [key, prompt]));
  const compiled = {
    tools: Object.fromEntries(
      tools.map(({ name, description, inputSchema: _, config, ...tool }) => {
        const own = said.get(fold(name));
        const { params, ...rest } = config;
        return [
          name,
          {
            ...tool,
            config: rest,
            ...(typeof own?.description === 'string' ? {} : { description }),
            params: borrowedParams(params, own?.params ?? []),
          },
        ];
      }),
    ),
    schemas: Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema])),
    models: Object.fromEntries(network.agents.map(({ key, models }) => [key, models])),
    // Borrowed from an agent of the project, or with what its delegation adds.
    prompts: Object.fromEntries(
      network.agents
        .filter(({ key, prompt }) => prompts.get(key) === '' || prompts.get(key) !== prompt)
        .map(({ key, prompt }) => [key, prompt]),
    ),
  };
  return compiled as unknown as JsonObject;
}

/** Those that no agent gives, which stand in no schema; of those that the definition says, what it left to the tool. */
function borrowedParams(params: Json | undefined, said: readonly ToolParam[]): JsonObject {
  const list = (params ?? []) as unknown as SnapshotParam[];
  const own = new Map(said.map((param) => [param.name, param]));
  const borrowed = list.filter(({ name, source }) => {
    const schema = own.get(name)?.schema;
    return source !== 'agent' && (!schema || Object.keys(schema).length === 0);
  });
  return Object.fromEntries(
    borrowed.map(({ name, schema, ...rest }) => [name, own.has(name) ? { schema } : { ...rest, schema }]),
  ) as JsonObject;
}

function byKey<Entry extends { key: string }>(entries: readonly Entry[]): Record<string, Omit<Entry, 'key'>> {
  return Object.fromEntries(entries.map(({ key, ...entry }) => [key, entry]));
}

function asSet(keys: readonly string[]): Record<string, true> {
  return Object.fromEntries(keys.map((key) => [key, true]));
}
