import type { NetworkDefinition } from '@troupe/protocol';
import { isId } from '../../base/index.ts';
import {
  agentsCalled,
  modelsNamed,
  type NamedModel,
  namesOfAgents,
  namesOfModels,
  type Transaction,
} from '../../store/index.ts';

// A document may name agents and models of the project, since ids mean nothing on another server. What is stored has ids.

export type Refuse = (path: string, code: string, message: string) => void;

export function looksLikeId(text: string | null): text is string {
  return text !== null && isId(text.toLowerCase());
}

/** Ids in the place of names. An id is written in one way, since ids are compared as text; one that does not exist is for the check. */
export async function withIds(
  rows: Transaction,
  project: string,
  definition: NetworkDefinition,
  refuse: Refuse,
): Promise<NetworkDefinition> {
  const agentIds = await idsOfAgents(rows, project, namesIn(definition, 'agentId'));
  const modelIds = await meantModels(rows, project, namesIn(definition, 'modelId'));
  const agents = definition.agents.map((agent, index) => {
    const agentId = looksLikeId(agent.agentId) ? agent.agentId.toLowerCase() : agentIds.get(agent.agentId!);
    const modelId = looksLikeId(agent.modelId) ? agent.modelId.toLowerCase() : modelIds.get(agent.modelId!);
    if (agent.agentId !== null && agentId === undefined)
      refuse(`agents.${index}.agentId`, 'agent_not_found', `"${agent.agentId}" is no agent of the project`);
    if (agent.modelId !== null && typeof modelId !== 'string')
      refuse(`agents.${index}.modelId`, 'model_not_found', noModel(agent.modelId, modelId));
    return { ...agent, agentId: agentId ?? null, modelId: typeof modelId === 'string' ? modelId : null };
  });
  return { ...definition, agents };
}

/** Names in the place of ids, wherever the name means that one and no other. */
export async function withNames(
  rows: Transaction,
  project: string,
  definition: NetworkDefinition,
): Promise<NetworkDefinition> {
  const ids = (field: 'agentId' | 'modelId') => [
    ...new Set(definition.agents.map((agent) => agent[field]).filter((id) => id !== null)),
  ];
  const agentNames = new Map(
    (await namesOfAgents(rows, project, ids('agentId')))
      .filter(({ name }) => !looksLikeId(name))
      .map(({ id, name }) => [id, name]),
  );
  const named = await namesOfModels(rows, project, ids('modelId'));
  const meant = await meantModels(
    rows,
    project,
    named.map(({ name }) => name),
  );
  const modelNames = new Map(
    named.filter(({ id, name }) => meant.get(name) === id).map(({ id, name }) => [id, name]),
  );
  const agents = definition.agents.map((agent) => ({
    ...agent,
    agentId: agent.agentId && (agentNames.get(agent.agentId) ?? agent.agentId),
    modelId: agent.modelId && (modelNames.get(agent.modelId) ?? agent.modelId),
  }));
  return { ...definition, agents };
}

function namesIn({ agents }: NetworkDefinition, field: 'agentId' | 'modelId'): string[] {
  const names = agents.map((agent) => agent[field]).filter((name) => name !== null && !looksLikeId(name));
  return [...new Set(names as string[])];
}

async function idsOfAgents(rows: Transaction, project: string, names: string[]) {
  return new Map((await agentsCalled(rows, project, names)).map(({ name, id }) => [name, id]));
}

/** By name: the id of the one that is meant, or all that may be. */
async function meantModels(
  rows: Transaction,
  project: string,
  names: string[],
): Promise<Map<string, string | NamedModel[]>> {
  const found = Map.groupBy(await modelsNamed(rows, project, names), ({ name }) => name);
  return new Map([...found].map(([name, models]) => [name, meantOf(models)]));
}

/** With its provider before without, and what can be used before what cannot. */
function meantOf(models: NamedModel[]): string | NamedModel[] {
  const whole = models.filter((model) => model.whole);
  const named = whole.length > 0 ? whole : models;
  const active = named.filter((model) => model.active);
  const meant = active.length > 0 ? active : named;
  return meant.length === 1 ? meant[0]!.id : meant;
}

function noModel(name: string, several: NamedModel[] | undefined): string {
  if (!several) return `"${name}" is no model of the project; models are named "provider/model"`;
  const ways = several.slice(0, 10).map(({ provider, modelId }) => `"${provider}/${modelId}"`);
  return `"${name}" may be ${ways.join(' or ')}: name the provider, too, or give the id`;
}
