import type { AgentDefinition, AgentSnapshot, Json, JsonObject } from '@troupe/protocol';
import { canonicalJson, newId, notFound, Refusal, schemaProblem } from '../../base/index.ts';
import {
  type AgentRow,
  type Author,
  type Database,
  insertAgent,
  inTransaction,
  isTaken,
  keepModels,
  noteChange,
  readAgent,
  type Transaction,
  updateAgent,
  usableModels,
} from '../../store/index.ts';
import { findCapability } from '../capabilities/index.ts';
import { byId, modelNotFound, modelsOfVersion, resolveSummariser } from '../models/index.ts';
import { toolsOf } from '../tools/index.ts';
import { allOf, checkApprovals, checkCarried, checkTools } from './agent-capabilities.ts';
import { compileAgent } from './compile.ts';
import { definitionOf } from './definition.ts';
import { normalTools, writeInlineTools } from './inline-tools.ts';

export interface Noted {
  /** For the audit log: `agent.created`. */
  action: string;
  /** For the list of versions. */
  notes: string | null;
}

/** One transaction, and a name that is taken told as such. */
export async function changing(
  db: Database,
  work: (transaction: Transaction) => Promise<AgentRow>,
): Promise<AgentRow> {
  try {
    return await inTransaction(db, work);
  } catch (error) {
    if (!isTaken(error, 'agents_name')) throw error;
    throw new Refusal('conflict', 'name_taken', 'Another agent of the project has this name.', {
      hint: 'Names are compared without regard to case, and archived agents keep theirs.',
      issues: [{ path: 'name', message: 'is taken' }],
      cause: error,
    });
  }
}

export async function addAgent(
  transaction: Transaction,
  author: Author,
  given: AgentDefinition,
  { action, notes }: Noted,
): Promise<AgentRow> {
  const definition = normal(given);
  const id = newId();
  const compiled = await checked(transaction, { project: author.project, id }, definition, null);
  await insertAgent(transaction, id, {
    project: author.project,
    definition,
    version: 1,
    ...compiled,
    notes,
  });
  await noteChange(transaction, author, { action, target: id, data: { name: definition.name, version: 1 } });
  return reread(transaction, author.project, id);
}

/** A new version, where anything differs. The row must be locked: versions have no gaps and no ties. */
export async function changeAgent(
  transaction: Transaction,
  author: Author,
  { row, definition: given, noted }: { row: AgentRow; definition: AgentDefinition; noted: Noted },
): Promise<AgentRow> {
  const definition = normal(given);
  const before = definitionOf(row);
  const changed = changedFields(before, definition);
  if (changed.length === 0) return row;
  const of = { project: author.project, id: row.id };
  const compiled = await checked(transaction, of, definition, before);
  const version = row.version + 1;
  await updateAgent(transaction, row.id, {
    project: author.project,
    definition,
    version,
    ...compiled,
    notes: noted.notes,
  });
  const data: JsonObject = { name: definition.name, version, changed };
  await noteChange(transaction, author, { action: noted.action, target: row.id, data });
  return reread(transaction, author.project, row.id);
}

export async function reread(transaction: Transaction, project: string, id: string): Promise<AgentRow> {
  const row = await readAgent(transaction, project, id);
  if (!row) throw notFound('agent');
  return row;
}

/** Everything that can be wrong with a definition beyond its shape is refused here, whichever way it came. */
async function checked(
  transaction: Transaction,
  { project, id: agent }: { project: string; id: string },
  definition: AgentDefinition,
  before: AgentDefinition | null,
): Promise<{ snapshot: AgentSnapshot; toolIds: string[] }> {
  checkCarried(definition.capabilities, before?.capabilities ?? [], findCapability);
  checkAnswer(definition);
  const named = namedModels(definition);
  const ids = named.map(({ id }) => id);
  await keepModels(transaction, project, ids);
  const known = await usableModels(transaction, project, ids);
  const had = new Set(before ? namedModels(before).map(({ id }) => id) : []);
  for (const { id, path } of named) {
    const model = byId(known.models, id);
    if (!model) throw modelNotFound(id, 'There is no model', path);
    if (!model.active && !had.has(id)) {
      throw modelNotFound(id, 'It or its provider is disabled: the model', path);
    }
  }
  const capabilities = allOf(definition.capabilities, findCapability);
  await writeInlineTools(transaction, { project, agent }, definition.inlineTools);
  const tools = await toolsOf(transaction, project, definition.tools, { keep: true, agent });
  checkTools(capabilities, tools);
  checkApprovals(definition.approvals, capabilities, tools);
  const models = modelsOfVersion(definition, known);
  const summariser = resolveSummariser(definition.compaction.modelId, known);
  const snapshot = compileAgent(definition, { capabilities, tools, models, summariser });
  return { snapshot, toolIds: tools.map(({ id }) => id) };
}

function checkAnswer({ answer }: AgentDefinition): void {
  const problem = answer && schemaProblem(answer.schema);
  if (!problem) return;
  throw new Refusal(
    'invalid',
    'answer_schema_invalid',
    `The schema of the answer cannot be used: ${problem}.`,
    {
      hint: 'It must be a JSON Schema, draft 2020-12.',
      issues: [{ path: 'answer.schema', message: problem }],
    },
  );
}

function namedModels({ defaultModelId, fallbackModelIds, compaction: { modelId } }: AgentDefinition) {
  return [
    ...(defaultModelId === null ? [] : [{ id: defaultModelId, path: 'defaultModelId' }]),
    ...fallbackModelIds.map((id, index) => ({ id, path: `fallbackModelIds.${index}` })),
    ...(modelId == null ? [] : [{ id: modelId, path: 'compaction.modelId' }]),
  ];
}

/** Ids are compared as text within JSON, so they have one way to be written. */
function normal(definition: AgentDefinition): AgentDefinition {
  return {
    ...definition,
    ...normalTools(definition),
    defaultModelId: definition.defaultModelId?.toLowerCase() ?? null,
    fallbackModelIds: definition.fallbackModelIds.map((id) => id.toLowerCase()),
    compaction: normalCompaction(definition.compaction),
  };
}

function normalCompaction({
  modelId,
  ...rest
}: AgentDefinition['compaction']): AgentDefinition['compaction'] {
  return modelId == null ? rest : { ...rest, modelId: modelId.toLowerCase() };
}

function changedFields(before: AgentDefinition, after: AgentDefinition): string[] {
  const fields = Object.keys(after) as (keyof AgentDefinition)[];
  return fields.filter((field) => textOf(before[field]) !== textOf(after[field]));
}

function textOf(value: unknown): string {
  return canonicalJson(value as Json);
}
