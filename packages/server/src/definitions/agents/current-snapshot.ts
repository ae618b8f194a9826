import type { AgentPreview, AgentSnapshot } from '@troupe/protocol';
import { LRUCache } from 'lru-cache';
import { isId, notFound, Refusal } from '../../base/index.ts';
import {
  type AgentRow,
  type Database,
  readAgent,
  type Standing,
  saveSnapshot,
  saveSnapshotWithin,
  standingOf,
  type Transaction,
  usableModels,
} from '../../store/index.ts';
import { findCapability } from '../capabilities/index.ts';
import { modelNotFound, resolveModels, resolveSummariser } from '../models/index.ts';
import { toolsOf } from '../tools/index.ts';
import { allOf } from './agent-capabilities.ts';
import { compileAgent, type Found } from './compile.ts';
import { definitionOf } from './definition.ts';

/** What a message to an agent runs with, now. */
export interface Current {
  snapshotId: string;
  entityId: string;
  name: string;
  version: number;
  status: 'active' | 'archived';
  wallMs: number;
  inDoubt: 'tell' | 'wait';
}

export interface Asked {
  project: string;
  agentId: string;
  /** What the message, then the session names; null or undefined: nothing. */
  modelIds: readonly (string | null | undefined)[];
  /** Where the caller has read it already, with these models. */
  standing?: Standing | undefined;
}

type FoundModels = Pick<Found, 'models' | 'summariser'>;

type Stored = Pick<Current, 'snapshotId' | 'wallMs' | 'inDoubt'>;

const MAX_STORED = 5_000;
/** Snapshots never change, so what is here stays right; a new version or another price makes another key. */
const stored = new WeakMap<Database, LRUCache<string, Stored>>();

/** One small statement where the same was asked before. */
export async function snapshotFor(db: Database, asked: Asked): Promise<Current> {
  const { standing, ...models } = await ask(db, asked);
  const { entityId, name, version, status } = standing;
  const known = storedOf(db);
  const key = `${asked.agentId} ${version} ${standing.tools} ${JSON.stringify(models)}`;
  const found = known.get(key);
  if (found) return { ...found, entityId, name, version, status };
  const { snapshot, version: compiled } = await compileNow(db, asked, models);
  // Changed in between: what was just read belongs to another version, perhaps with another model.
  if (compiled !== version) return snapshotFor(db, { ...asked, standing: undefined });
  const { wallMs } = snapshot.limits;
  const snapshotId = await saveSnapshot(db, asked.project, snapshot);
  const fresh = { snapshotId, wallMs, inDoubt: snapshot.inDoubt };
  known.set(key, fresh);
  return { ...fresh, entityId, name, version, status };
}

/** Names no provider that there could be. */
const UNUSABLE = { provider: 'none', maxOutputTokens: 1, inputPrice: 0, outputPrice: 0 };

/**
 * For a run that nobody is there to be refused. Where the agent's model is gone or disabled, the run begins all the same and fails with
 * that for a reason: a person reads of it, and can take it up again. The model itself is not called.
 */
export async function snapshotAnyway(
  db: Database,
  project: string,
  agentId: string,
  known?: Standing,
): Promise<Current> {
  const asked = { project, agentId, modelIds: [] };
  try {
    return await snapshotFor(db, { ...asked, standing: known });
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'model_not_found')) throw error;
    const standing = await standingOf(db, { project, agent: agentId, models: [] });
    if (!standing) throw notFound('agent');
    const model = standing.defaultModelId ?? standing.projectModelId ?? 'default';
    const { snapshot } = await compileNow(db, asked, {
      models: [{ ...UNUSABLE, model }],
      summariser: null,
    });
    const { wallMs } = snapshot.limits;
    const { entityId, name, version, status } = standing;
    const snapshotId = await saveSnapshot(db, project, snapshot);
    return {
      snapshotId,
      wallMs,
      inDoubt: snapshot.inDoubt,
      entityId,
      name,
      version,
      status,
    };
  }
}

/** The exact prompt, tools, models and limits of a run that nobody chose a model for. */
export async function previewAgent(db: Database, project: string, agentId: string): Promise<AgentPreview> {
  const asked = { project, agentId, modelIds: [] };
  const { standing, ...models } = await ask(db, asked);
  const { snapshot, version } = await compileNow(db, asked, models);
  if (version !== standing.version) return previewAgent(db, project, agentId);
  return {
    prompt: snapshot.prompt,
    tools: snapshot.tools.map(({ name, description, inputSchema, effect, waitsFor }) => ({
      name,
      description,
      inputSchema,
      effect,
      ...(waitsFor ? { waitsFor } : {}),
    })),
    models: snapshot.models.map(({ provider, model }) => ({ provider, model })),
    limits: snapshot.limits,
  };
}

async function ask(
  db: Database,
  { project, agentId, modelIds, standing: known }: Asked,
): Promise<{ standing: Standing } & FoundModels> {
  const chosen = modelIds.filter((id) => id != null).map((id) => id.toLowerCase());
  const odd = chosen.find((id) => !isId(id));
  if (odd !== undefined) throw modelNotFound(odd, 'There is no model');
  const standing = known ?? (await standingOf(db, { project, agent: agentId, models: chosen }));
  if (!standing) throw notFound('agent');
  return {
    standing,
    models: resolveModels(chosen, standing, standing),
    summariser: resolveSummariser(standing.summariserId, standing),
  };
}

async function compileNow(
  db: Database,
  { project, agentId }: Asked,
  models: FoundModels,
): Promise<{ snapshot: AgentSnapshot; version: number }> {
  const row = await readAgent(db.rows, project, agentId);
  if (!row) throw notFound('agent');
  return { snapshot: await compileRow(db.rows, project, row, models), version: row.version };
}

async function compileRow(
  rows: Transaction,
  project: string,
  row: AgentRow,
  models: FoundModels,
): Promise<AgentSnapshot> {
  const definition = definitionOf(row);
  const tools = await toolsOf(rows, project, definition.tools, { agent: row.id });
  const capabilities = allOf(definition.capabilities, findCapability);
  return compileAgent(definition, { capabilities, tools, ...models });
}

/** What a message to the agent would run with now, stored within a transaction: for what is to stay with it. */
export async function pinAgent(
  rows: Transaction,
  project: string,
  agentId: string,
): Promise<Pick<Current, 'snapshotId' | 'entityId' | 'name' | 'wallMs'>> {
  const row = await readAgent(rows, project, agentId);
  if (!row) throw notFound('agent');
  const { defaultModelId, fallbackModelIds, compaction } = definitionOf(row);
  const ids = [defaultModelId, ...fallbackModelIds, compaction.modelId].filter((id) => id != null);
  const usable = await usableModels(rows, project, ids);
  const snapshot = await compileRow(rows, project, row, {
    models: resolveModels([], { defaultModelId, fallbackModelIds }, usable),
    summariser: resolveSummariser(compaction.modelId, usable),
  });
  const { wallMs } = snapshot.limits;
  const snapshotId = await saveSnapshotWithin(rows, project, snapshot);
  return { snapshotId, entityId: row.entity_id, name: row.name, wallMs };
}

function storedOf(db: Database): LRUCache<string, Stored> {
  let known = stored.get(db);
  if (!known) {
    known = new LRUCache({ max: MAX_STORED });
    stored.set(db, known);
  }
  return known;
}
