import {
  type JsonObject,
  type NetworkDefinition,
  type NetworkFile,
  networkDefinition,
  networkSnapshot,
} from '@troupe/protocol';
import type { ZodType } from 'zod';
import { inWords, Refusal } from '../../base/index.ts';
import {
  type Author,
  agentsWithIds,
  type Database,
  modelsCalled,
  type NetworkRow,
  type Transaction,
  usableModels,
} from '../../store/index.ts';
import { modelNotFound } from '../models/index.ts';
import { addNetwork, changingNetworks } from './change.ts';
import { checkDefinition } from './check.ts';
import { fold } from './compile.ts';
import { checkFile } from './file.ts';
import { looksLikeId } from './names.ts';

/** A new draft of a file that nobody changed. Tools are those of the same names here; they must be there. */
export async function importNetwork(
  db: Database,
  author: Author,
  { name, ...file }: NetworkFile & { name?: string | undefined },
): Promise<NetworkRow> {
  checkFile(file);
  const { definition, graph } = read(file);
  const rows = await changingNetworks(db, async (transaction) => {
    const here = await atHome(transaction, author.project, { definition, graph });
    // Checksums say nothing of who wrote a file: what no draft may have is refused here as well.
    const checked = await checkDefinition(
      transaction,
      author.project,
      { ...here, name: name ?? here.name },
      { at: (path) => (path === 'name' && name !== undefined ? path : `definition.${path}`) },
    );
    return addNetwork(transaction, author, checked, { checksum: file.checksum });
  });
  return rows.network;
}

type Graph = ReturnType<typeof networkSnapshot.parse>['network'];

function read({ definition, snapshot }: NetworkFile): { definition: NetworkDefinition; graph: Graph } {
  return {
    definition: parsed(networkDefinition, definition, 'definition'),
    graph: parsed(networkSnapshot, snapshot, 'snapshot').network,
  };
}

function parsed<Value>(schema: ZodType<Value>, value: JsonObject, path: string): Value {
  const result = schema.safeParse(value, { error: inWords });
  if (result.success) return result.data;
  throw new Refusal('invalid', 'invalid_request', `The ${path} of the file is none that this server knows.`, {
    issues: result.error.issues
      .slice(0, 20)
      .map((issue) => ({ path: [path, ...issue.path.map(String)].join('.'), message: issue.message })),
  });
}

/**
 * Ids mean nothing in another project. What an agent of that project lent is in the snapshot; a model is looked for by the name that
 * its provider has for it, and not replaced by another where it is missing. Names are for the check, as in any document.
 */
async function atHome(
  transaction: Transaction,
  project: string,
  { definition, graph }: { definition: NetworkDefinition; graph: Graph },
): Promise<NetworkDefinition> {
  const compiled = new Map(graph.agents.map((agent) => [fold(agent.key), agent]));
  const lenders = await agentsWithIds(transaction, project, idsIn(definition.agents, 'agentId'));
  const known = await usableModels(transaction, project, idsIn(definition.agents, 'modelId'));
  const models = new Set(known.models.map(({ id }) => id));
  const calledSo = (key: string) => compiled.get(fold(key))?.models[0]?.model ?? '';
  const called = await modelsCalled(transaction, project, [
    ...new Set(definition.agents.map(({ key }) => calledSo(key))),
  ]);
  const byName = new Map(called.toReversed().map(({ id, model_id }) => [model_id, id]));
  const agents = definition.agents.map((agent, index) => {
    const lent = looksLikeId(agent.agentId) && !lenders.has(agent.agentId.toLowerCase());
    const modelId =
      !looksLikeId(agent.modelId) || models.has(agent.modelId.toLowerCase())
        ? agent.modelId
        : byName.get(calledSo(agent.key));
    if (modelId === undefined)
      throw modelNotFound(
        calledSo(agent.key) || agent.modelId || '',
        'The project has no model',
        `definition.agents.${index}.modelId`,
      );
    if (!lent) return { ...agent, modelId };
    return {
      ...agent,
      modelId,
      agentId: null,
      prompt: compiled.get(fold(agent.key))?.prompt ?? agent.prompt,
    };
  });
  return { ...definition, agents };
}

function idsIn(agents: NetworkDefinition['agents'], field: 'agentId' | 'modelId'): string[] {
  return [
    ...new Set(
      agents
        .map((agent) => agent[field])
        .filter(looksLikeId)
        .map((id) => id.toLowerCase()),
    ),
  ];
}
