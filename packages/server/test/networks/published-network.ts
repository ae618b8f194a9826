import {
  type NetworkSnapshot,
  networkDefinition,
  type SnapshotModel,
  type ToolParam,
} from '@troupe/protocol';
import { type Database, newId, saveSnapshot } from '@troupe/server';
import type { z } from 'zod';
import { compileNetwork } from '../../src/definitions/networks/compile.ts';
import type { ToolRow } from '../../src/store/index.ts';

// A published network without the editing that led to it.

export type Definition = z.input<typeof networkDefinition>;

export interface FixtureTool {
  kind?: string;
  inputSchema?: object;
  params?: ToolParam[];
  config?: object;
}

export const MODEL = {
  provider: 'demo',
  model: 'script',
  maxOutputTokens: 4096,
  inputPrice: 0,
  outputPrice: 0,
};

export function compiled(
  given: Definition,
  tools: Record<string, FixtureTool> = {},
  models: Record<string, SnapshotModel[]> = {},
): NetworkSnapshot {
  const definition = networkDefinition.parse(given);
  return compileNetwork(definition, {
    tools: new Map(Object.entries(tools).map(([name, tool]) => [name.toLowerCase(), toolRow(name, tool)])),
    models: new Map(definition.agents.map(({ key }) => [key.toLowerCase(), models[key] ?? [MODEL]])),
    prompts: new Map(),
  });
}

function toolRow(name: string, { kind = 'echo', inputSchema, params, config }: FixtureTool): ToolRow {
  const input_schema = inputSchema ?? { type: 'object' };
  return {
    id: newId(),
    version: 1,
    name,
    description: `The tool ${name}.`,
    kind,
    input_schema,
    effect: 'pure',
    approval: false,
    visible: false,
    config: config ?? {},
    params: params ?? null,
  } as unknown as ToolRow;
}

/** Rows as publishing leaves them; once more under the same id: the next version. */
export async function publish(
  db: Database,
  project: string,
  snapshot: NetworkSnapshot,
  id: string = newId(),
): Promise<{ id: string; name: string; version: number }> {
  const stored = await saveSnapshot(db, project, snapshot as never);
  const { policy, response, logPolicy } = snapshot.network;
  await db.pool.query(
    `insert into troupe.networks (id, project_id, name, policy, response, log_policy) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [id, project, snapshot.name, policy, JSON.stringify(response), logPolicy],
  );
  const { rows } = await db.pool.query(
    `insert into troupe.network_versions (network_id, version, snapshot_id, definition, created_by, published_by)
      select $1, coalesce(max(version), 0) + 1, $2, '{}', 'test', 'test' from troupe.network_versions where network_id = $1 returning version`,
    [id, stored],
  );
  const { version } = rows[0];
  await db.pool.query(`update troupe.networks set status = 'published', current_version = $2 where id = $1`, [
    id,
    version,
  ]);
  return { id, name: snapshot.name, version };
}
