import type { Json, UsageBy, UsageInterval } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import { OPEN } from './open-runs.ts';

/** So many runs that were made in one interval and ended in another, in the same way. */
export interface UsageOfRuns {
  agentId: string | null;
  networkId: string | null;
  /** Null: not in the time that was asked about. */
  madeAt: Date | null;
  /** Null: not in the time that was asked about, or not yet. */
  endedAt: Date | null;
  status: 'completed' | 'failed' | 'canceled' | null;
  runs: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

export interface UsageTime {
  from: Date;
  to: Date;
  interval: UsageInterval;
}

// In UTC, where every interval is equally long.
const bin = (time: string) => `date_bin($3::interval, ${time}, '2000-01-03T00:00:00Z'::timestamptz)`;
const STRIDE: Record<UsageInterval, string> = { minute: '1 minute', hour: '1 hour', day: '1 day' };

/**
 * Runs that were made or ended within this time: one pass over an index that has all of it. What lies outside is in no row of the
 * answer, so that there are as many as the time has intervals, however long ago it was.
 */
export async function usageOfRuns(
  db: Database,
  project: string,
  { from, to, interval }: UsageTime,
): Promise<UsageOfRuns[]> {
  const ended = 'coalesce(r.completed_at, r.canceled_at)';
  const isEnded = `${ended} < $4`;
  const isMade = '(r.created_at >= $2 and r.created_at < $4)';
  const sum = (column: string) => `coalesce(sum(r.${column}) filter (where ${isEnded}), 0)::bigint`;
  const open = (where: string) =>
    `select r.created_at, r.agent_id, r.network_id from troupe.runs r where r.project_id = $1 and ${where} and ${isMade}`;
  return db.run<UsageOfRuns>(
    {
      name: 'usage_of_runs',
      text: `select r.agent_id as "agentId", r.network_id as "networkId", case when ${isMade} then ${bin('r.created_at')} end as "madeAt",
            case when ${isEnded} then ${bin(ended)} end as "endedAt", case when ${isEnded} then r.status end as status,
            count(*)::int as runs, ${sum('input_tokens')} as "inputTokens", ${sum('output_tokens')} as "outputTokens", ${sum('cost')} as cost
          from troupe.runs r where r.project_id = $1 and r.status in ('completed', 'failed', 'canceled') and ${ended} >= $2 and (${isEnded} or ${isMade})
          group by 1, 2, 3, 4, 5
        union all
        select o.agent_id, o.network_id, ${bin('o.created_at')}, null, null, count(*)::int, 0, 0, 0 from (${OPEN.map(open).join(' union all ')}) o
          group by 1, 2, 3
        union all
        select u.agent_id, u.network_id, ${bin('u.at')}, null, null, u.started::int, 0, 0, 0 from troupe.usage_purged u where ${PURGED} and u.model is null and u.started > 0
        union all
        select u.agent_id, u.network_id, null, ${bin('u.at')}, x.status, x.runs::int, x.input, x.output, x.cost from troupe.usage_purged u cross join lateral (values
            ('completed'::troupe.run_status, u.completed, u.input_tokens, u.output_tokens, u.cost), ('failed', u.failed, 0, 0, 0), ('canceled', u.canceled, 0, 0, 0)) x (status, runs, input, output, cost)
          where ${PURGED} and u.model is null and (x.runs > 0 or x.input + x.output + x.cost > 0)`,
      values: [project, from, STRIDE[interval], to],
      plannedAnew: true,
    },
    db.pool,
  );
}

// The hours of runs that were deleted.
const PURGED = 'u.project_id = $1 and u.at >= $2 and u.at < $4';

/** What the steps of a model took in an interval. */
export interface UsageOfSteps {
  /** `provider/model`. */
  model: string;
  at: Date;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

/** Of steps that were taken within this time. */
export async function usageOfSteps(
  db: Database,
  project: string,
  { from, to, interval }: UsageTime,
): Promise<UsageOfSteps[]> {
  const open = (where: string) =>
    `select r.id from troupe.runs r where r.project_id = $1 and ${where} and r.created_at < $4`;
  return db.run<UsageOfSteps>(
    {
      name: 'usage_of_steps',
      text: `with run as (select r.id from troupe.runs r where r.project_id = $1 and r.status in ('completed', 'failed', 'canceled') and coalesce(r.completed_at, r.canceled_at) >= $2 and r.created_at < $4
          union all ${OPEN.map(open).join(' union all ')})
        select s.provider || '/' || s.model as model, ${bin('s.finished_at')} as at,
          sum(s.input_tokens)::bigint as "inputTokens", sum(s.output_tokens)::bigint as "outputTokens", sum(s.cost)::bigint as cost
        from run cross join lateral (select x.* from troupe.run_steps x where x.run_id = run.id and x.finished_at >= $2 and x.finished_at < $4 offset 0) s group by s.provider, s.model, 2
        union all
        select u.model, ${bin('u.at')}, sum(u.input_tokens)::bigint, sum(u.output_tokens)::bigint, sum(u.cost)::bigint from troupe.usage_purged u
          where ${PURGED} and u.model is not null group by 1, 2`,
      values: [project, from, STRIDE[interval], to],
      plannedAnew: true,
    },
    db.pool,
  );
}

/** Before which nothing is known to have been used: the first run that there still is, or the first sum that was kept. And what time it is. */
export async function usageBegins(db: Database, project: string): Promise<{ first: Date | null; now: Date }> {
  const rows = await db.run<{ first: Date | null; now: Date }>(
    {
      name: 'usage_begins',
      text: `select least((select r.created_at from troupe.runs r where r.project_id = $1 order by r.id limit 1),
          (select min(u.at) from troupe.usage_purged u where u.project_id = $1),
          (select min(u.at) from troupe.usage_sums u where u.project_id = $1 and u.every = 'hour'),
          (select min(u.at) from troupe.usage_sums u where u.project_id = $1 and u.every = 'day')) as first, now() as now`,
      values: [project],
    },
    db.pool,
  );
  return rows[0]!;
}

/** What was kept of intervals that are over. */
export async function readUsageSums(
  db: Database,
  project: string,
  every: 'hour' | 'day',
  from: Date,
  to: Date,
): Promise<{ at: Date; sums: Json }[]> {
  return db.run<{ at: Date; sums: Json }>(
    {
      name: 'read_usage_sums',
      text: 'select at, sums from troupe.usage_sums where project_id = $1 and every = $2 and at >= $3 and at < $4',
      values: [project, every, from, to],
    },
    db.pool,
  );
}

/** Whoever comes second changes nothing. */
export async function keepUsageSums(
  db: Database,
  project: string,
  every: 'hour' | 'day',
  sums: { at: Date; sums: Json }[],
): Promise<void> {
  await db.run(
    {
      name: 'keep_usage_sums',
      text: `insert into troupe.usage_sums (project_id, every, at, sums)
        select $1, $2, x.at, x.sums from unnest($3::timestamptz[], $4::jsonb[]) x(at, sums) on conflict do nothing`,
      values: [project, every, sums.map(({ at }) => at), sums.map((one) => toJsonText(one.sums))],
    },
    db.pool,
  );
}

/** What things are called, by the keys of their series. */
export async function namesOfUsage(
  db: Database,
  project: string,
  by: UsageBy,
  keys: string[],
): Promise<Map<string, string>> {
  if (by === 'none' || keys.length === 0) return new Map();
  if (by === 'model') return new Map(keys.map((key) => [key, key.slice(key.indexOf('/') + 1)]));
  const rows = await db.run<{ id: string; name: string }>(
    {
      name: `names_of_${by}s`,
      text: `select id, name from troupe.${by === 'agent' ? 'agents' : 'networks'} where project_id = $1 and id = any($2::uuid[])`,
      values: [project, keys],
    },
    db.pool,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export interface BudgetRow {
  id: string;
  scope: 'project' | 'agent' | 'space' | 'session' | 'run_tree';
  scopeId: string;
  name: string | null;
  unit: 'tokens' | 'cost';
  amount: number;
  spent: number;
  reserved: number;
  onExhausted: 'stop' | 'fallback' | 'wait';
  waiting: number;
}

const MOST_BUDGETS = 500;
/** Sessions can be many: what holds for more comes before them. */
const SCOPES = `array_position(array['project', 'agent', 'space', 'session', 'run_tree'], b.scope)`;

/**
 * Shares that workers hold count as spent as far as they reported it, and as reserved for the rest. `id`: only this one. With 100,000 budgets of
 * sessions and 10,000 runs that wait for something, one takes 9 ms and the list 0.1 s; counting the runs for each budget by itself took 8 s.
 */
export async function listBudgets(
  db: Database,
  project: string,
  id: string | null = null,
): Promise<BudgetRow[]> {
  return db.run<BudgetRow>(
    {
      name: id ? 'get_budget' : 'list_budgets',
      text: `with b as materialized (select b.* from troupe.budgets b where b.project_id = $1 ${id ? 'and b.id = $2' : ''} order by ${SCOPES}, b.id limit ${MOST_BUDGETS}),
        w as materialized (select r.wait_state->>'budget' as budget, count(*)::int as waiting from troupe.runs r
          where r.status in ('waiting_tool', 'waiting_reply') and r.project_id = $1 and r.wait_state ? 'budget' group by 1)
        select b.id, b.scope, b.scope_id as "scopeId", coalesce(p.name, a.name, c.name, s.title) as name, b.unit, b.amount, b.spent, b.leased as reserved,
          b.on_exhausted as "onExhausted", coalesce(w.waiting, 0) as waiting
        from b left join w on w.budget = b.id::text
          left join troupe.projects p on b.scope = 'project' and p.id = b.scope_id left join troupe.agents a on b.scope = 'agent' and a.id = b.scope_id
          left join troupe.spaces c on b.scope = 'space' and c.id = b.scope_id left join troupe.sessions s on b.scope = 'session' and s.id = b.scope_id
        order by ${SCOPES}, b.id`,
      values: id ? [project, id] : [project],
    },
    db.pool,
  );
}
