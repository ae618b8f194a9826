import type { Json, NetworkDefinition, NetworkProblem, NetworkToolDefinition } from '@troupe/protocol';
import { canonicalJson, Refusal } from '../../base/index.ts';
import { keepAgents, keepModels, type Transaction, toolsNamed, usableModels } from '../../store/index.ts';
import { brokenOf, paramIssues, schemasOf } from '../tools/index.ts';
import { looksLikeId, type Refuse, withIds } from './names.ts';

/** Of a document that is all wrong, so much is told. */
const MOST_TOLD = 200;

/**
 * All that can be wrong with a definition beyond its shape and that no draft may have, told at once. Answers the definition as it is
 * kept: keys as they are written where they are defined, and each once; ids in the place of names. What a draft may have and a version may not is for `validate`.
 */
export async function checkDefinition(
  transaction: Transaction,
  project: string,
  given: NetworkDefinition,
  { before = null, at = asItIs }: { before?: NetworkDefinition | null; at?: (path: string) => string } = {},
): Promise<NetworkDefinition> {
  const problems: NetworkProblem[] = [];
  const refuse = (path: string, code: string, message: string) => problems.push({ path, code, message });
  if (given.name !== before?.name) checkName(given.name, refuse);
  const toolKeys = await checkTools(transaction, project, { definition: given, before, refuse });
  const agentKeys = keysOf(given.agents, 'agents', refuse);
  const definition = await withIds(transaction, project, given, refuse);
  await checkNamed(transaction, project, { definition, before, refuse });
  const defaults = definition.agents.flatMap(({ isDefault }, index) => (isDefault ? [index] : []));
  if (defaults.length > 1) {
    const keys = defaults.map((index) => `"${definition.agents[index]!.key}"`).join(', ');
    for (const index of defaults)
      refuse(`agents.${index}.isDefault`, 'too_many_defaults', `is set for more than one agent: ${keys}`);
  }
  const agents = definition.agents.map((agent, index) => ({
    ...agent,
    tools: known(agent.tools, toolKeys, (key, place) =>
      refuse(`agents.${index}.tools.${place}`, 'unknown_key', `"${key}" is no tool of the network`),
    ),
    routes: known(agent.routes, agentKeys, (key, place) =>
      refuse(`agents.${index}.routes.${place}`, 'unknown_key', `"${key}" is no agent of the network`),
    ),
  }));
  for (const [index, { key, routes }] of definition.agents.entries()) {
    const self = routes.findIndex((to) => to.toLowerCase() === key.toLowerCase());
    if (self !== -1) refuse(`agents.${index}.routes.${self}`, 'self_route', 'leads to the agent itself');
  }
  if (problems.length > 0) throw refusalOf(problems, at);
  const tools = definition.tools.map((tool) => ({ ...tool, key: toolKeys.get(tool.key.toLowerCase())! }));
  return { ...definition, tools, agents };
}

/** Where an address takes an id or a name, the id comes first; and `.` and `..` are steps in an address. A name from before this rule stays. */
function checkName(name: string, refuse: Refuse): void {
  const compared = name.normalize('NFKC');
  if (looksLikeId(compared)) refuse('name', 'name_invalid', 'looks like an id; a name must not');
  if (compared === '.' || compared === '..')
    refuse('name', 'name_invalid', `is "${compared}", which no address can have in it`);
}

interface Checked {
  definition: NetworkDefinition;
  before: NetworkDefinition | null;
  refuse: Refuse;
}

/** The names of the tools as the project has them, by key. Those that are new are kept until the transaction ends. */
async function checkTools(
  transaction: Transaction,
  project: string,
  { definition, before, refuse }: Checked,
): Promise<Map<string, string>> {
  keysOf(definition.tools, 'tools', refuse);
  const had = new Map(before?.tools.map((tool) => [tool.key.toLowerCase(), tool]));
  const more = definition.tools.map(({ key }) => key.toLowerCase()).filter((key) => !had.has(key));
  const found = await toolsNamed(transaction, project, [...new Set(more)], { keep: true });
  const names = new Map([...had].map(([key, tool]) => [key, tool.key]));
  for (const { name } of found) names.set(name.toLowerCase(), name);
  const isNew = ({ key, params }: NetworkToolDefinition) =>
    params !== null && !isSame(params, had.get(key.toLowerCase())?.params);
  const changed = new Set(definition.tools.filter(isNew));
  const broken = await brokenOf([...changed].flatMap(({ params }) => schemasOf(params!)));
  for (const [index, tool] of definition.tools.entries()) {
    const { key, params } = tool;
    if (!names.has(key.toLowerCase())) {
      refuse(`tools.${index}.key`, 'tool_not_found', `"${key}" is no tool of the project`);
    }
    if (!changed.has(tool)) continue;
    for (const { path, message } of paramIssues(params!, broken))
      refuse(`tools.${index}.params.${path}`, 'tool_schema_invalid', message);
  }
  // One that is not known is told once, where it is named as a tool of the network.
  return new Map(definition.tools.map(({ key }) => [key.toLowerCase(), names.get(key.toLowerCase()) ?? key]));
}

/** The agents and models of the project that agents of the network name. They must be usable, or named before. */
async function checkNamed(
  transaction: Transaction,
  project: string,
  { definition, before, refuse }: Checked,
): Promise<void> {
  const hadAgents = new Set(before?.agents.map(({ agentId }) => agentId));
  const hadModels = new Set(before?.agents.map(({ modelId }) => modelId));
  const agentIds = unique(definition.agents.map(({ agentId }) => agentId)).filter((id) => !hadAgents.has(id));
  const modelIds = unique(definition.agents.map(({ modelId }) => modelId)).filter((id) => !hadModels.has(id));
  const agents = new Set(await keepAgents(transaction, project, agentIds));
  await keepModels(transaction, project, modelIds);
  const { models } =
    modelIds.length > 0 ? await usableModels(transaction, project, modelIds) : { models: [] };
  const usable = new Set(models.filter(({ active }) => active).map(({ id }) => id));
  for (const [index, { agentId, modelId }] of definition.agents.entries()) {
    if (agentId !== null && !hadAgents.has(agentId) && !agents.has(agentId)) {
      refuse(`agents.${index}.agentId`, 'agent_not_found', 'is not an active agent of the project');
    }
    if (modelId !== null && !hadModels.has(modelId) && !usable.has(modelId)) {
      refuse(`agents.${index}.modelId`, 'model_not_found', 'is no model that can be used');
    }
  }
}

function unique(ids: (string | null)[]): string[] {
  return [...new Set(ids.filter((id) => id !== null))];
}

/** Keys as they are written where they are defined, by how they compare. */
function keysOf(items: { key: string }[], list: string, refuse: Refuse): Map<string, string> {
  const keys = new Map<string, string>();
  for (const [index, { key }] of items.entries()) {
    const first = keys.get(key.toLowerCase());
    if (first === undefined) keys.set(key.toLowerCase(), key);
    else refuse(`${list}.${index}.key`, 'key_taken', `is taken by "${first}"; case makes no difference`);
  }
  return keys;
}

function known(
  keys: string[],
  all: ReadonlyMap<string, string>,
  unknown: (key: string, place: number) => void,
): string[] {
  const found = keys.map((key, place) => {
    const name = all.get(key.toLowerCase());
    if (name === undefined) unknown(key, place);
    return name ?? key;
  });
  return [...new Set(found)];
}

/** By the first of them; the others stand beside it. */
function refusalOf(problems: NetworkProblem[], at: (path: string) => string): Refusal {
  const [first] = problems as [NetworkProblem];
  const more = problems.length === 1 ? '' : ` (and ${problems.length - 1} more)`;
  const kind = first.code === 'key_taken' ? 'conflict' : 'invalid';
  const detail = `The network cannot be so: "${at(first.path)}" ${first.message}${more}.`;
  return new Refusal(kind, first.code, detail, {
    hint: 'All that is wrong stands in `issues`.',
    issues: problems.slice(0, MOST_TOLD).map(({ path, message }) => ({ path: at(path), message })),
  });
}

function asItIs(path: string): string {
  return path;
}

function isSame(one: unknown, two: unknown): boolean {
  return two !== undefined && canonicalJson(one as Json) === canonicalJson(two as Json);
}
