import type { AgentDefinition } from '@troupe/protocol';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';

export interface AgentVersionRow {
  agent_id: string;
  version: number;
  checksum: string;
  notes: string | null;
  definition: AgentDefinition;
  created_at: Date;
}

function selectVersions(rows: Transaction, project: string, agent: string) {
  return rows
    .selectFrom('agent_versions')
    .innerJoin('agents', 'agents.id', 'agent_versions.agent_id')
    .innerJoin('compiled_snapshots', 'compiled_snapshots.id', 'agent_versions.snapshot_id')
    .where('agents.project_id', '=', project)
    .where('agents.id', '=', agent)
    .select([
      'agent_versions.agent_id',
      'agent_versions.version',
      'compiled_snapshots.checksum',
      'agent_versions.notes',
      sql<AgentDefinition>`agent_versions.definition`.as('definition'),
      'agent_versions.created_at',
    ]);
}

export async function readAgentVersion(
  rows: Transaction,
  project: string,
  agent: string,
  version: number,
): Promise<AgentVersionRow | undefined> {
  return selectVersions(rows, project, agent)
    .where('agent_versions.version', '=', version)
    .executeTakeFirst();
}

export async function listAgentVersions(
  rows: Transaction,
  project: string,
  agent: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<AgentVersionRow[]> {
  let query = selectVersions(rows, project, agent);
  if (before !== undefined) query = query.where('agent_versions.version', '<', before);
  return query.orderBy('agent_versions.version', 'desc').limit(limit).execute();
}
