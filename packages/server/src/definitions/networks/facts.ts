import type { Json, NetworkDefinition, SnapshotModel } from '@troupe/protocol';
import { mapTexts, templateOf } from '../../base/index.ts';
import {
  type LenderRow,
  lendersOf,
  type ProjectModels,
  secretsNamed,
  type ToolRow,
  type Transaction,
  toolsNamed,
  usableModels,
} from '../../store/index.ts';
import { resolveModels } from '../models/index.ts';
import { fold, type NetworkFound } from './compile.ts';
import { type Pin, pinsOf } from './pins.ts';

/** All of the project that a network refers to, as it is now. */
export interface Facts {
  /** By folded name. */
  tools: ReadonlyMap<string, ToolRow>;
  /** Agents of the project, by id. */
  lenders: ReadonlyMap<string, LenderRow>;
  models: ProjectModels;
  /** What its tools that begin runs will run. */
  pins: ReadonlyMap<string, Pin>;
  /** Names of the secrets that its tools refer to and that there are. */
  secrets: ReadonlySet<string>;
}

/** Of a definition as it is kept, with ids: whether it is, or is only about to be. `id` is null for a network that is not there yet. */
export async function factsOf(
  rows: Transaction,
  project: string,
  { id, definition }: { id: string | null; definition: NetworkDefinition },
): Promise<Facts> {
  const { agents } = definition;
  const keys = new Set(definition.tools.map(({ key }) => fold(key)));
  const tools = await toolsNamed(rows, project, [...keys]);
  const lent = new Set(agents.flatMap(({ agentId }) => (agentId === null ? [] : [agentId])));
  const lenders = await lendersOf(rows, project, [...lent]);
  const named = [
    ...agents.map(({ modelId }) => modelId),
    ...lenders.flatMap(({ defaultModelId, fallbackModelIds }) => [defaultModelId, ...fallbackModelIds]),
  ];
  const ids = new Set(named.filter((id) => id !== null).map((id) => id.toLowerCase()));
  const secrets = new Set(tools.flatMap((tool) => secretsIn(tool)));
  return {
    tools: new Map(tools.map((tool) => [fold(tool.name), tool])),
    lenders: new Map(lenders.map((lender) => [lender.id, lender])),
    models: await usableModels(rows, project, [...ids]),
    pins: await pinsOf(rows, project, { tools, self: selfOf(id, definition) }),
    secrets: new Set(await secretsNamed(rows, project, [...secrets])),
  };
}

function selfOf(id: string | null, { agents, policy }: NetworkDefinition) {
  return { id, agents, wallMs: policy.wallMs };
}

/** The secrets that a tool refers to. A template that means nothing names none; the tool says so when it is defined. */
export function secretsIn({ config, mcp_server }: Pick<ToolRow, 'config' | 'mcp_server'>): string[] {
  const names = new Set<string>(typeof config.secretRef === 'string' ? [config.secretRef] : []);
  const { url, headers, args, env } = mcp_server ?? {};
  mapTexts([config.request ?? null, url ?? null, headers ?? {}, args ?? [], env ?? {}] as Json, (text) => {
    for (const part of partsOf(text)) if (part.from === 'secrets') names.add(part.name);
    return text;
  });
  return [...names];
}

function partsOf(text: string) {
  try {
    return templateOf(text);
  } catch {
    return [];
  }
}

/** What `compileNetwork` needs. Refuses a model that is gone or disabled; the validation has said so before. */
export function foundIn(definition: NetworkDefinition, facts: Facts): NetworkFound {
  const known = new Map<string, SnapshotModel[]>();
  const models = definition.agents.map(({ key, modelId, agentId }): [string, SnapshotModel[]] => {
    // Of a thousand agents most have the same.
    const asked = `${modelId} ${agentId}`;
    const found = known.get(asked) ?? modelsFor({ modelId, agentId }, facts);
    known.set(asked, found);
    return [fold(key), found];
  });
  return {
    tools: facts.tools,
    pins: facts.pins,
    models: new Map(models),
    prompts: new Map([...facts.lenders].map(([id, { prompt }]) => [id, prompt])),
    delegates: new Map(
      [...facts.lenders].flatMap(([id, { delegation }]) => (delegation ? [[id, delegation] as const] : [])),
    ),
  };
}

const NOTHING_NAMED = { defaultModelId: null, fallbackModelIds: [] };

/** Its own model, else that of the agent of the project that it names, else the project's. */
export function modelsFor(
  { modelId, agentId }: { modelId: string | null; agentId: string | null },
  { lenders, models }: Facts,
): SnapshotModel[] {
  const lender = agentId === null ? undefined : lenders.get(agentId.toLowerCase());
  return resolveModels([modelId], lender ?? NOTHING_NAMED, models);
}
