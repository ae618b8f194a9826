import type { JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { RUN } from './run-columns.ts';
import type { RunRecord } from './runs.ts';

/** A network as it can be run, as far as one statement tells: what is missing is null. */
export interface NetworkToRun {
  id: string;
  name: string;
  status: 'draft' | 'published' | 'archived';
  currentVersion: number | null;
  /** The one that was asked for, or the current one. */
  version: number | null;
  snapshotId: string | null;
  wallMs: number;
  /** The key of the agent that was asked for, or of the default one, as it is spelled. */
  agent: string | null;
}

/** `ref`: an id or a name. The snapshot itself stays where it is: a large network is not read for each of its runs. */
export async function findNetworkToRun(
  db: Database,
  project: string,
  ref: string,
  { version = null, agent = null }: { version?: number | null; agent?: string | null } = {},
): Promise<NetworkToRun | null> {
  const rows = await db.run<NetworkToRun>(
    {
      name: 'find_network_to_run',
      text: `select n.id, n.name, n.status, n.current_version as "currentVersion", v.version, v.snapshot_id as "snapshotId",
          coalesce((s.compiled->'limits'->>'wallMs')::float8, 86400000) as "wallMs",
          case when $4::text is null then s.compiled->'network'->>'defaultAgent'
            else (select k from jsonb_object_keys(s.compiled->'network'->'validation'->'canRespond') k where lower(k) = lower($4) limit 1) end as agent
        from troupe.networks n
        left join troupe.network_versions v on v.network_id = n.id and v.version = coalesce($3::int, n.current_version)
        left join troupe.compiled_snapshots s on s.id = v.snapshot_id
        where n.project_id = $1 and (n.id::text = lower($2) or troupe.folded(n.name) = troupe.folded($2))
        order by n.id::text = lower($2) desc limit 1`,
      values: [project, ref, version, agent],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The names of the parameters that the system gives to tools of a version, in their order. */
export async function systemParamNames(db: Database, snapshot: string): Promise<string[]> {
  const rows = await db.run<{ name: string }>(
    {
      name: 'system_param_names',
      text: `select distinct p.name #>> '{}' as name from troupe.compiled_snapshots s,
          jsonb_path_query(s.compiled, '$.network.tools[*].params[*] ? (@.source == "system").name') p(name)
        where s.id = $1 order by 1`,
      values: [snapshot],
    },
    db.pool,
  );
  return rows.map(({ name }) => name);
}

export interface NetworkRunRecord extends RunRecord {
  network: { id: string; name: string; version: number };
  /** The agent that is at it, or that responded. */
  agent: string | null;
}

// What the network was called is kept with the run: it may be called otherwise by now, or be gone.
const NETWORK_RUN = (where: string) => `select x.*,
    jsonb_build_object('id', n.network_id, 'name', n.trigger->'network'->'name', 'version', n.network_version) as network,
    coalesce(x.outcome->>'agent', (select m.metadata->'route'->>'to' from troupe.messages m
      where m.thread_id = x."threadId" and m.role = 'system' and m.metadata ? 'route' order by m.seq desc limit 1), n.trigger->>'agent') as agent
  from (${RUN} where r.project_id = $1 and r.network_id is not null and ${where}) x join troupe.runs n on n.id = x.id`;

export async function findNetworkRun(
  db: Database,
  project: string,
  run: string,
): Promise<NetworkRunRecord | null> {
  const rows = await db.run<NetworkRunRecord>(
    { name: 'find_network_run', text: NETWORK_RUN('r.id = $2'), values: [project, run] },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The newest first. What agents of the network delegate to one another stands with the run that it is of. */
export async function listNetworkRuns(
  db: Database,
  project: string,
  network: string,
  { before, limit }: { before?: string | undefined; limit: number },
): Promise<NetworkRunRecord[]> {
  return db.run<NetworkRunRecord>(
    {
      name: 'list_network_runs',
      text: `${NETWORK_RUN(`r.network_id = $2 and not r.trigger ? 'delegated' and ($3::uuid is null or r.id < $3) order by r.id desc limit $4`)} order by x.id desc`,
      values: [project, network, before ?? null, limit],
    },
    db.pool,
  );
}

/** What the system gives to the tools of a run, encrypted; null where it was given nothing. */
export async function sealedOfRun(db: Database, project: string, run: string): Promise<JsonObject | null> {
  const rows = await db.run<{ sealed: JsonObject | null }>(
    {
      name: 'sealed_of_run',
      text: 'select sealed from troupe.runs where project_id = $1 and id = $2',
      values: [project, run],
    },
    db.pool,
  );
  return rows[0]?.sealed ?? null;
}

/** Those of the names that the project has no secret of. */
export async function secretsNotSet(db: Database, project: string, names: string[]): Promise<string[]> {
  const rows = await db.run<{ name: string }>(
    {
      name: 'secrets_not_set',
      text: `select n as name from unnest($2::text[]) n
        where not exists (select from troupe.secrets s where s.project_id = $1 and s.name = n)`,
      values: [project, names],
    },
    db.pool,
  );
  return rows.map(({ name }) => name);
}
