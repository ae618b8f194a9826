import {
  type Json,
  type JsonObject,
  type NetworkAgentDefinition,
  type NetworkDefinition,
  type NetworkGraph,
  type NetworkPolicy,
  type NetworkSnapshot,
  type SnapshotLimits,
  type SnapshotModel,
  type SnapshotTool,
  snapshotLimits,
} from '@troupe/protocol';
import type { ToolRow } from '../../store/index.ts';
import { toSnapshotTool } from '../tools/index.ts';
import { delegationTools, isDelegating, withDelegation } from './delegating.ts';
import { parametersOf } from './params.ts';
import type { Pin } from './pins.ts';

/** What the keys and ids of a definition stand for. Keys are folded: see `fold`. */
export interface NetworkFound {
  tools: ReadonlyMap<string, ToolRow>;
  /** What tools that begin runs will run. */
  pins?: ReadonlyMap<string, Pin>;
  /** The one to call, and then its fallbacks, for each agent. */
  models: ReadonlyMap<string, readonly SnapshotModel[]>;
  /** Of the agents of the project that agents of the network name, by id. */
  prompts: ReadonlyMap<string, string>;
  /** What is set for the delegation of those that carry it, by id. */
  delegates?: ReadonlyMap<string, JsonObject>;
}

/** Keys are the same whatever the case. */
export function fold(key: string): string {
  return key.toLowerCase();
}

/** Where runs begin: the one that says so, or the only one. */
export function defaultOf({ agents }: NetworkDefinition): NetworkAgentDefinition | undefined {
  return agents.find(({ isDefault }) => isDefault) ?? (agents.length === 1 ? agents[0] : undefined);
}

/**
 * What a network becomes when it runs. A pure function: equal content, equal snapshot, equal checksum. The order in which agents, tools
 * and routes were written is not content, so they come by key; references are spelled as what they refer to. Throws where something is
 * not there: whoever publishes has validated.
 */
export function compileNetwork(definition: NetworkDefinition, found: NetworkFound): NetworkSnapshot {
  const named = byKey(definition.tools).map((entry) => compileTool(entry, found, definition.policy));
  const tools = [...named, ...delegationTools(definition, found, named)];
  const toolKeys = new Map(tools.map(({ key }) => [fold(key), key]));
  const ordered = byKey(definition.agents);
  const agentKeys = new Map(ordered.map(({ key }) => [fold(key), key]));
  const agents = ordered.map((agent) => compileAgent(agent, found, { tools: toolKeys, agents: agentKeys }));
  const first = defaultOf(definition);
  const graph: NetworkGraph = {
    defaultAgent: first?.key ?? null,
    agents,
    tools: tools.map(({ key, description, params }) => ({ key, description, params })),
    adjacency: agents.flatMap(({ key, allowedRoutes }) => allowedRoutes.map((to) => ({ from: key, to }))),
    policy: definition.policy,
    response: definition.response,
    logPolicy: definition.logPolicy as JsonObject,
    // Whoever looks up a key that a model gave asks `Object.hasOwn` first: "constructor" is a key like any other.
    validation: {
      allowedTools: Object.fromEntries(agents.map(({ key, equippedTools }) => [key, equippedTools])),
      allowedRoutes: Object.fromEntries(agents.map(({ key, allowedRoutes }) => [key, allowedRoutes])),
      canRespond: Object.fromEntries(agents.map(({ key, allowRespond }) => [key, allowRespond])),
    },
  };
  const models = (agents.find(({ key }) => key === first?.key) ?? agents[0])?.models;
  if (!models) throw new Error('the network has no agents');
  // Put together of what was parsed, part by part: to parse all of a large one again takes as long as the rest together.
  return {
    kind: 'network',
    name: definition.name,
    prompt: '',
    models,
    tools: tools.map(({ tool }) => tool),
    limits: limitsOf(definition.policy),
    inDoubt: 'tell',
    config: {},
    network: graph,
  };
}

export interface CompiledTool {
  key: string;
  description: string;
  params: NetworkGraph['tools'][number]['params'];
  /** As the kernel executes it. */
  tool: SnapshotTool;
}

function compileTool(
  entry: NetworkDefinition['tools'][number],
  found: NetworkFound,
  policy: NetworkPolicy,
): CompiledTool {
  const row = required(found.tools, fold(entry.key), 'tool');
  const { params, inputSchema } = parametersOf(row.input_schema, entry.params ?? row.params);
  const description = entry.description ?? row.description;
  const tool = toSnapshotTool(row);
  return {
    key: row.name,
    description,
    params,
    tool: {
      ...tool,
      description,
      inputSchema,
      config: { ...tool.config, ...taskOf(row, found, policy), params: params as Json },
    },
  };
}

/** Of a tool that begins runs: which, and how many of them there may be. */
function taskOf({ kind, name }: ToolRow, { pins }: NetworkFound, policy: NetworkPolicy): JsonObject {
  if (kind !== 'network' && kind !== 'agent') return {};
  const pin = pins?.get(fold(name));
  const most = { depth: policy.taskDepth, runs: policy.runTasks };
  return { most, ...(pin && 'pinned' in pin ? { pinned: pin.pinned } : {}) };
}

function compileAgent(
  agent: NetworkAgentDefinition,
  found: NetworkFound,
  keys: { tools: Map<string, string>; agents: Map<string, string> },
): NetworkGraph['agents'][number] {
  const borrowed = agent.prompt === '' && agent.agentId !== null;
  const prompt = borrowed ? required(found.prompts, agent.agentId!.toLowerCase(), 'agent') : agent.prompt;
  const delegating = isDelegating(agent, found);
  return {
    key: agent.key,
    displayName: agent.displayName,
    description: agent.description,
    prompt: delegating ? withDelegation.prompt(prompt) : prompt,
    models: [...required(found.models, fold(agent.key), 'model of')],
    allowRespond: agent.allowRespond,
    ...(agent.allowTaskGroup ? { allowTaskGroup: true } : {}),
    equippedTools: named(delegating ? withDelegation.tools(agent.tools) : agent.tools, keys.tools, 'tool'),
    allowedRoutes: named(agent.routes, keys.agents, 'agent'),
    metadata: agent.metadata,
  };
}

/** What answers may hold in any case. */
const FAN_OUT = 32;

function limitsOf(policy: NetworkPolicy): SnapshotLimits {
  const { maxSteps, toolCalls, modelTries, retryBackoffMs, modelTimeoutMs, wallMs, tokens, maxTasks } =
    policy;
  return snapshotLimits.parse({
    steps: maxSteps,
    toolCalls,
    modelTries,
    retryBackoffMs,
    modelTimeoutMs,
    wallMs,
    // A whole group is one answer.
    ...(maxTasks > FAN_OUT ? { fanOut: maxTasks } : {}),
    ...(tokens === null ? {} : { tokens }),
  });
}

function named(keys: readonly string[], known: Map<string, string>, what: string): string[] {
  const found = new Set(keys.map((key) => required(known, fold(key), what)));
  return [...found].sort(compareKeys);
}

function required<Value>(known: ReadonlyMap<string, Value>, key: string, what: string): Value {
  const found = known.get(key);
  if (found === undefined) throw new Error(`the network names a ${what} "${key}" that was not found`);
  return found;
}

function byKey<Entry extends { key: string }>(entries: readonly Entry[]): Entry[] {
  return entries.toSorted((a, b) => compareKeys(a.key, b.key));
}

/** By code units, not by a language: the same on every machine. */
function compareKeys(a: string, b: string): number {
  const [left, right] = [fold(a), fold(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
