import type pg from 'pg';
import type { RestlessFact } from './evidence.ts';

/** What is not at rest. Everything is, some time after the load and the faults have ended. */
const RESTLESS: Record<string, string> = {
  run: `select r.id, r.status || coalesce(' for ' || (select string_agg(distinct c.waits_for::text, ',') from troupe.tool_calls c
      where c.run_id = r.id and c.waits_for is not null), '') || ' (' || r.door || ', ready ' || r.ready || ')' as state
    from troupe.runs r where r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')`,
  task: `select id, status as state from troupe.tasks where status in ('pending', 'running', 'waiting')`,
  'batch item': `select batch_id || ' ' || row_number as id, status as state from troupe.network_batch_items
    where status in ('pending', 'queued', 'running')`,
  plan: `select id, 'overdue since ' || next_run_at as state from troupe.plans where status = 'pending'`,
  change: `select id::text, 'not judged' as state from troupe.changes`,
  delivery: `select id, status || coalesce(': ' || (error->>'message'), '') as state from troupe.trigger_deliveries
    where status in ('pending', 'sending')`,
  join: `select id::text, 'not carried out: ' || coalesce(what, 'join') as state from troupe.joins`,
  job: `select id::text, 'locked by ' || locked_by as state from graphile_worker.jobs where locked_at is not null`,
  thread: `select t.id, 'active with run ' || t.active_run_id as state from troupe.threads t where t.active_run_id is not null`,
};

export async function readRestless(client: pg.ClientBase): Promise<RestlessFact[]> {
  const found: RestlessFact[] = [];
  for (const [table, text] of Object.entries(RESTLESS)) {
    const { rows } = await client.query<{ id: string; state: string }>(text);
    found.push(...rows.map((row) => ({ table, ...row })));
  }
  return found;
}
