import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';

// What tools name that begin runs: networks and agents of the project, by id or by name.

export interface NamedNetwork {
  /** Of the tool that names it, in lower case. */
  tool: string;
  id: string;
  name: string;
  status: 'draft' | 'published' | 'archived';
  /** The one that was asked for, or the current one. */
  version: number | null;
  snapshotId: string | null;
  wallMs: number;
  /** The key of the agent that was asked for, or of the default one. */
  agent: string | null;
}

/** Those that there are. The snapshots stay where they are. */
export async function networksNamed(
  rows: Transaction,
  project: string,
  asked: readonly { tool: string; network: string; version: number | null; agent: string | null }[],
): Promise<NamedNetwork[]> {
  if (asked.length === 0) return [];
  const found = await sql<NamedNetwork>`
    select x.tool, n.id, n.name, n.status, v.version, v.snapshot_id as "snapshotId",
      coalesce((s.compiled->'limits'->>'wallMs')::float8, 86400000) as "wallMs",
      case when x.agent is null then s.compiled->'network'->>'defaultAgent'
        else (select k from jsonb_object_keys(s.compiled->'network'->'validation'->'canRespond') k where lower(k) = lower(x.agent) limit 1) end as agent
    from jsonb_to_recordset(${toJsonText(asked)}::jsonb) as x(tool text, network text, version int, agent text)
    cross join lateral (select * from troupe.networks n where n.project_id = ${project}
      and (n.id::text = lower(x.network) or troupe.folded(n.name) = troupe.folded(x.network))
      order by n.id::text = lower(x.network) desc limit 1) n
    left join troupe.network_versions v on v.network_id = n.id and v.version = coalesce(x.version, n.current_version)
    left join troupe.compiled_snapshots s on s.id = v.snapshot_id`.execute(rows);
  return found.rows;
}

/** The active agent of this id or name. */
export async function agentNamed(
  rows: Transaction,
  project: string,
  ref: string,
): Promise<string | undefined> {
  const found = await sql<{
    id: string;
  }>`select id from troupe.agents where project_id = ${project} and status = 'active'
    and (id::text = lower(${ref}) or troupe.folded(name) = troupe.folded(${ref}))
    order by id::text = lower(${ref}) desc limit 1`.execute(rows);
  return found.rows[0]?.id;
}

/** The tools that name this network or agent, in words; at most ten. */
export async function toolsThatName(
  rows: Transaction,
  project: string,
  kind: 'network' | 'agent',
  { id, name }: { id: string; name: string },
): Promise<string[]> {
  const ref = sql`config->${sql.lit(kind)}->>${sql.lit(kind)}`;
  const found = await sql<{
    name: string;
  }>`select name from troupe.tools where project_id = ${project} and kind = ${kind}
    and (lower(${ref}) = ${id} or troupe.folded(${ref}) = troupe.folded(${name})) order by name limit 10`.execute(
    rows,
  );
  return found.rows.map((tool) => `the tool "${tool.name}"`);
}
