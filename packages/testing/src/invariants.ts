import type pg from 'pg';

/**
 * What must be true of every database at every moment. Answers with one sentence per violation.
 * Tests ask after each scenario, whatever it was about.
 */
export async function violations(pool: pg.Pool): Promise<string[]> {
  const found: string[] = [];
  const client = await pool.connect();
  try {
    // Tables that were just filled have no statistics: a nested loop over the messages of a run with 500 calls took 0.3 s.
    await client.query('begin; set local enable_nestloop = off');
    for (const [number, [what, text]] of Object.entries(CHECKS).entries()) {
      // Named, so that it is planned once per connection: all of them take 7 ms of Postgres instead of 21.
      const { rows } = await client.query({ name: `invariant ${number}`, text });
      for (const row of rows.slice(0, 5)) found.push(`${what}: ${JSON.stringify(row)}`);
    }
    await client.query('commit');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
  return found;
}

const CHECKS: Record<string, string> = {
  'an item of a batch says something else than its run': `
    select i.batch_id, i.row_number, i.iteration, i.status, r.status as run from troupe.network_batch_items i left join troupe.runs r on r.id = i.run_id
    where i.run_id is not null and (r.id is null
      or i.status <> case when r.status in ('waiting_tool', 'waiting_reply') then 'running' else r.status::text end)`,
  'a batch has something to begin, and no job will look at it': `
    select b.id from troupe.network_batches b where b.canceled_at is null
      and exists (select from troupe.network_batch_items i where i.batch_id = b.id and i.status = 'pending')
      and not exists (select from graphile_worker.jobs j where j.key = 'batch:' || b.id and (j.attempts < j.max_attempts or j.locked_at is not null))`,
  'a plan is to run, and no job will look at it': `
    select p.id, p.next_run_at from troupe.plans p where p.status = 'pending' and not exists (
      select from graphile_worker.jobs j where j.key = 'plan:' || p.id and (j.attempts < j.max_attempts or j.locked_at is not null))`,
  'a plan ran twice for one time': `
    select r.trigger->>'planId', r.trigger->>'scheduledAt', count(*) from troupe.runs r where r.trigger_type = 'plan' and r.parent_run_id is null
    group by 1, 2 having count(*) > 1`,
  'messages have a gap or do not reach the counter': `
    select t.id, t.last_message_seq, count(m.seq), max(m.seq) from troupe.threads t left join troupe.messages m on m.thread_id = t.id
    group by t.id having count(m.seq) <> t.last_message_seq or coalesce(max(m.seq), 0) <> t.last_message_seq`,
  'events have a gap or do not reach the counter': `
    select t.id, t.last_event_seq, count(e.seq), max(e.seq) from troupe.threads t left join troupe.events e on e.thread_id = t.id
    group by t.id having count(e.seq) <> t.last_event_seq or coalesce(max(e.seq), 0) <> t.last_event_seq`,
  'a call of an ended run is open': `
    select c.run_id, c.call_id, c.status from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
    where r.status in ('completed', 'failed', 'canceled') and (c.status in ('requested', 'running') or c.waits_for is not null)`,
  'a settled call has not exactly one result': `
    select c.run_id, c.call_id, c.status, count(m.seq) from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
      left join troupe.messages m on m.thread_id = r.thread_id and m.run_id = c.run_id and m.role = 'tool_result' and m.tool_call_id = c.call_id
    where c.status in ('completed', 'failed', 'canceled', 'expired') or c.status = 'in_doubt' and c.waits_for is null
    group by 1, 2, 3 having count(m.seq) <> 1`,
  'an open call has a result': `
    select c.run_id, c.call_id, c.status from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
      join troupe.messages m on m.thread_id = r.thread_id and m.run_id = c.run_id and m.role = 'tool_result' and m.tool_call_id = c.call_id
    where c.status in ('requested', 'running')`,
  'a call has not exactly one request': `
    select c.run_id, c.call_id, count(m.seq) from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
      left join troupe.messages m on m.thread_id = r.thread_id and m.run_id = c.run_id and m.role = 'tool_call' and m.tool_call_id = c.call_id
    group by 1, 2 having count(m.seq) <> 1`,
  'open_calls is not the number of calls that wait outside': `
    select r.id, r.status, r.open_calls, count(c.call_id) from troupe.runs r
      left join troupe.tool_calls c on c.run_id = r.id and c.waits_for is not null
    group by r.id having r.open_calls <> count(c.call_id)`,
  'a run waits for nothing': `
    select r.id from troupe.runs r where r.status in ('waiting_tool', 'waiting_reply') and r.open_calls = 0 and r.wait_state is null`,
  'a run waits for replies and says otherwise, or the reverse': `
    select r.id, r.status, array_agg(distinct c.waits_for) from troupe.runs r join troupe.tool_calls c on c.run_id = r.id and c.waits_for is not null
    where r.status in ('waiting_tool', 'waiting_reply') and r.wait_state is null
    group by r.id having (r.status = 'waiting_reply') <> bool_and(c.waits_for::text = 'reply')`,
  'a wait for a reply has no call that waits for it': `
    select w.run_id, w.call_id from troupe.reply_waits w left join troupe.tool_calls c on c.run_id = w.run_id and c.call_id = w.call_id
    where c.waits_for is null or c.waits_for::text <> 'reply'`,
  'a call waits for a run that has ended, and nobody will look': `
    select c.run_id, c.call_id, r.id, r.status from troupe.tool_calls c join troupe.runs r on r.parent_run_id = c.run_id and r.parent_call_id = c.call_id
    where c.waits_for = 'task' and r.status in ('completed', 'failed', 'canceled')
      and not exists (select from troupe.joins j where j.run_id = c.run_id and j.call_id = c.call_id)`,
  'a run works for a call that waits no longer, and nobody will look': `
    select r.id, r.status from troupe.runs r left join troupe.tool_calls c on c.run_id = r.parent_run_id and c.call_id = r.parent_call_id
    where r.parent_call_id is not null and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') and c.waits_for is distinct from 'task'
      and not exists (select from troupe.joins j where j.run_id = r.parent_run_id and j.call_id = r.parent_call_id) and not exists (
      select from troupe.events x where x.thread_id = r.thread_id and x.run_id = r.id and x.type = 'run.queued' and x.data->>'retry' = 'true')`,
  'a task says something else than its run': `
    select t.id, t.status, r.status as run, q.asked from troupe.tasks t left join troupe.runs r on r.id = t.run_id
      left join lateral (select true as asked from troupe.tool_calls c where c.run_id = r.id and c.waits_for::text = 'answer' limit 1) q on true
    where r.id is null or r.task_id is distinct from t.id or not case when r.status = 'completed' then t.status = 'success'
      when r.status in ('failed', 'canceled') then t.status = r.status::text
      when r.status in ('waiting_tool', 'waiting_reply') and q.asked then t.status = 'waiting'
      when r.status = 'queued' and r.started_at is null then t.status in ('pending', 'running') else t.status = 'running' end`,
  'a sub-agent says something else than its task': `
    select s.id, s.status, t.status as task from troupe.sub_agents s left join troupe.tasks t on t.id = s.task_id and t.sub_agent_id = s.id
    where t.id is null or s.status <> case t.status when 'success' then 'completed' when 'failed' then 'failed' when 'canceled' then 'failed'
      when 'waiting' then 'waiting_for_user' else 'active' end`,
  'two runs work on one task': `
    select r.task_id from troupe.runs r where r.task_id is not null and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')
    group by r.task_id having count(*) > 1`,
  'iterations are not the steps of the runs that are over': `
    select s.id, s.iteration_count, sum(r.step) from troupe.sub_agents s join troupe.runs r on r.task_id = s.task_id and r.status in ('completed', 'failed', 'canceled')
    group by s.id having s.iteration_count <> sum(r.step)`,
  'somebody asks a question of which nobody knows': `
    select c.run_id, c.call_id from troupe.tool_calls c join troupe.runs r on r.id = c.run_id left join troupe.tasks t on t.run_id = r.id
    where c.waits_for::text = 'answer' and (t.id is null or r.status in ('waiting_tool', 'waiting_reply') and t.question is distinct from c.args->>'question')`,
  'a task goes on within one that is over, and nobody will look': `
    select n.id, n.status, t.status as within from troupe.tasks n join troupe.tasks t on t.id = n.parent_task_id
    where n.status in ('pending', 'running', 'waiting') and t.status in ('success', 'failed', 'canceled')
      and not exists (select from troupe.joins j where j.what = 'cancel' and j.task_id = n.id)`,
  // A fork copies these messages into another thread.
  'what became of a task was told twice': `
    select m.thread_id, m.metadata->'task'->>'taskId' as task, m.metadata->'task'->>'told' as told, count(*) from troupe.messages m
    where m.metadata->'task' ? 'told' group by 1, 2, 3 having count(*) > 1`,
  'a chat was not told of all that became of a task': `
    select t.id, t.status, e.data->>'status' as told from troupe.tasks t join troupe.threads h on h.id = t.chat_thread_id left join lateral (
      select x.data from troupe.events x where x.thread_id = t.chat_thread_id and x.type in ('task.created', 'task.updated') and x.data->>'id' = t.id::text
      order by x.seq desc limit 1) e on true
    where e.data->>'status' is distinct from t.status and not exists (select from troupe.joins j where j.what = 'event' and j.task_id = t.id)`,
  // The head says how far a run has come; the row takes that over when the worker leaves it, or the next one takes it up.
  'steps are not counted one by one': `
    select r.id, r.status, r.step, h.step as head, count(s.step) from troupe.runs r left join troupe.run_heads h on h.run_id = r.id
      left join troupe.run_steps s on s.run_id = r.id
    where r.trigger_type <> 'fork' group by r.id, h.step having count(s.step) <> coalesce(h.step, r.step)
      or r.status not in ('queued', 'running') and count(s.step) <> r.step`,
  'a run ended without exactly one closing event': `
    select r.id, r.status, count(e.seq) from troupe.runs r left join troupe.events e on e.thread_id = r.thread_id and e.run_id = r.id
      and e.type in ('run.completed', 'run.failed', 'run.canceled', 'run.absorbed')
    where r.status in ('completed', 'failed', 'canceled') and not exists (
      select from troupe.events x where x.thread_id = r.thread_id and x.run_id = r.id and x.type = 'run.queued' and x.data->>'retry' = 'true')
    group by r.id having count(e.seq) <> 1`,
  'a thread has an active run that is not at work': `
    select t.id, r.status from troupe.threads t join troupe.runs r on r.id = t.active_run_id
    where r.status in ('completed', 'failed', 'canceled') or not r.ready`,
  'a thread has failed although its run did not, or another is at work': `
    select t.id, r.status, t.active_run_id from troupe.threads t left join troupe.runs r on r.id = t.failed_run_id
    where t.failed_run_id is not null and (r.status is distinct from 'failed' or t.active_run_id is not null)`,
  'a serial run is blocked by nobody': `
    select r.id from troupe.runs r join troupe.threads t on t.id = r.thread_id
    where r.status = 'queued' and not r.ready and t.active_run_id is null`,
  'two serial runs of a thread are at work': `
    select thread_id from troupe.runs where serial and ready and status in ('queued', 'running', 'waiting_tool', 'waiting_reply')
    group by thread_id having count(*) > 1`,
  'what a thread keeps is not what was counted': `
    select coalesce(t.thread_id, f.thread_id) as id, t.files, t.bytes, f.count, f.sum from troupe.file_totals t
      full join (select thread_id, count(*), sum(octet_length(content)) from troupe.files group by 1) f on f.thread_id = t.thread_id
    where t.files is distinct from coalesce(f.count, 0) or t.bytes is distinct from coalesce(f.sum, 0)`,
  'files or a list are of no thread': `
    select thread_id from (select thread_id from troupe.file_totals union select thread_id from troupe.todo_lists) x
    where not exists (select from troupe.threads t where t.id = x.thread_id)`,
  'a space has no thread, or a thread of a space no space': `
    select t.id as thread, s.id as space from (select id from troupe.threads where kind = 'space') t full join troupe.spaces s on s.id = t.id
    where t.id is null or s.id is null`,
  'somebody has read or processed what was not said': `
    select m.space_id, m.entity_id, m.joined_seq, m.last_seen_seq, m.last_processed_seq, t.last_message_seq
    from troupe.memberships m join troupe.threads t on t.id = m.space_id
    where greatest(m.joined_seq, m.last_seen_seq, m.last_processed_seq) > t.last_message_seq or m.last_processed_seq < m.joined_seq`,
  'a budget was exceeded': `select id, amount, spent, leased from troupe.budgets where spent + leased > amount`,
  'a budget lease does not add up': `
    select b.id, b.leased, sum(l.granted - l.spent - l.returned) from troupe.budgets b left join troupe.budget_leases l on l.budget_id = b.id
    group by b.id having b.leased <> coalesce(sum(l.granted - l.spent - l.returned), 0)`,
};
