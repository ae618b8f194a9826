import type { Database } from '@troupe/server';
import { silentLogger } from '@troupe/server';
import type { AgentIds } from '@troupe/testing';
import { houseTasks } from '../../packages/server/src/jobs/housekeeping.ts';
import { purgeTombstones } from '../../packages/server/src/store/queries/purge.ts';
import { saveRetention } from '../../packages/server/src/store/queries/retention.ts';

// Days of load, one after the other, each followed by a purge. Rows are dated back: day 0 is `ORIGIN` days ago, and the rules
// of a day count from there, so that a purge sees the clock of that day.

const ORIGIN = 60;

export interface WeekOptions {
  days: number;
  /** Sessions with one turn, and as many runs outside sessions, each with one tool call. */
  perDay: number;
  /** For how many days everything is kept, tombstones too. */
  keepDays: number;
}

export interface DaySizes {
  day: number;
  loadMs: number;
  purgeMs: number;
  tables: Record<string, { rows: number; dead: number; bytes: number }>;
}

export const TABLES = [
  ...['threads', 'sessions', 'messages', 'event_batches', 'runs', 'run_heads', 'run_steps', 'tool_calls'],
  ...['tombstones', 'audit_log', 'usage_purged', 'deleted_threads'],
];

/** Runs the days. `vacuum`: what autovacuum does after a while, done at once. */
export async function simulate(
  db: Database,
  ids: AgentIds,
  snapshot: string,
  { days, perDay, keepDays }: WeekOptions,
  onDay: (sizes: DaySizes) => void = () => {},
): Promise<DaySizes[]> {
  const all: DaySizes[] = [];
  for (let day = 0; day < days; day++) {
    const age = ORIGIN - day;
    const began = performance.now();
    await load(db, ids, snapshot, { age, perDay });
    const loaded = performance.now();
    const rule = { deleteAfterDays: age + keepDays };
    await saveRetention(db.rows, ids.project, null, { sessions: rule, runs: rule, audit: rule });
    await retain(db);
    await db.pool.query(
      `update troupe.tombstones set gone_at = now() - make_interval(days => $1) where gone_at > now() - interval '1 day'`,
      [age],
    );
    while ((await purgeTombstones(db, age + keepDays)) > 0);
    const purged = performance.now();
    await db.pool.query('vacuum (analyze)');
    const sizes = {
      day,
      loadMs: Math.round(loaded - began),
      purgeMs: Math.round(purged - loaded),
      tables: await read(db),
    };
    all.push(sizes);
    onDay(sizes);
  }
  return all;
}

async function retain(db: Database): Promise<void> {
  const signal = new AbortController().signal;
  const context = { db, logger: silentLogger, signal, attempt: 1, lastAttempt: false };
  for (;;) {
    await houseTasks()['retention']!({}, context);
    const { rows } = await db.pool.query(
      `delete from graphile_worker._private_jobs where key = 'retention' returning 1`,
    );
    if (rows.length === 0) return;
  }
}

async function read(db: Database): Promise<DaySizes['tables']> {
  const tables: DaySizes['tables'] = {};
  for (const table of TABLES) {
    const { rows } = await db.pool.query<{ rows: number; dead: number; bytes: number }>(
      `select (select count(*)::int from troupe.${table}) as rows, pg_stat_get_dead_tuples('troupe.${table}'::regclass)::int as dead,
        pg_total_relation_size('troupe.${table}')::bigint as bytes`,
    );
    tables[table] = rows[0]!;
  }
  return tables;
}

/** What a turn with one tool call leaves, in a session and outside of one. */
async function load(
  db: Database,
  ids: AgentIds,
  snapshot: string,
  { age, perDay }: { age: number; perDay: number },
): Promise<void> {
  const at = `now() - make_interval(days => ${age}) + n * interval '1 day' / ${2 * perDay}`;
  await db.pool.query(
    `create unlogged table turn as select n, gen_random_uuid() as thread, gen_random_uuid() as session, gen_random_uuid() as run,
      n <= ${perDay} as spoken, ${at} as at from generate_series(1, ${2 * perDay}) n`,
  );
  const text = `'{"text": "${'word '.repeat(40)}"}'::jsonb`;
  for (const statement of [
    `insert into troupe.threads (id, project_id, kind, last_message_seq, last_event_seq, created_at)
      select thread, $1, case when spoken then 'session' else 'run' end::troupe.thread_kind, 4, 9, at from turn`,
    `insert into troupe.sessions (id, project_id, agent_id, entity_id, thread_id, created_at, updated_at) select session, $1, $2, $3, thread, at, at from turn where spoken`,
    `insert into troupe.messages (thread_id, seq, id, role, content, run_id, step, created_at)
      select thread, m, gen_random_uuid(), (array['user', 'tool_call', 'tool_result', 'assistant'])[m]::troupe.message_role, ${text}, run, 1, at from turn, generate_series(1, 4) m`,
    `insert into troupe.event_batches (thread_id, last_seq, run_id, entries, created_at)
      select thread, 3 * b, run, '[["run.queued", {"a": 1}], ["step.started"], ["step.generated", {"text": "${'x'.repeat(100)}"}]]', at from turn, generate_series(1, 3) b`,
    `insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, root_run_id, trigger_type, trigger_seq, status, wall_ms, step,
        input_tokens, output_tokens, cost, outcome, created_at, started_at, completed_at)
      select run, $1, case when spoken then 'session' else 'space' end, $2, $3, $4, thread, run, 'message', 1, 'completed', 1000, 2, 100, 10, 5, ${text}, at, at, at from turn`,
    `insert into troupe.run_heads (run_id, epoch, version, step, input_tokens, output_tokens, cost) select run, 1, 4, 2, 100, 10, 5 from turn`,
    `insert into troupe.run_steps (run_id, step, provider, model, worker_id, epoch, attempt, started_at, finished_at, input_tokens, output_tokens, cost, finish_reason)
      select run, s, 'demo', 'm', run, 1, 1, at, at, 50, 5, 2, 'stop' from turn, generate_series(1, 2) s`,
    `insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, output, epoch, created_at, settled_at)
      select run, 'c1', 1, 0, 'fact', '{}', 'pure', 'completed', ${text}, 1, at, at from turn`,
  ]) {
    const values = [ids.project, ids.agent, ids.entity, snapshot];
    const used = values.slice(
      0,
      Math.max(0, ...[...statement.matchAll(/\$(\d)/g)].map(([, n]) => Number(n))),
    );
    await db.pool.query(statement, used);
  }
  await db.pool.query('drop table turn');
}
