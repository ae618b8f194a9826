import { type Database, newId } from '@troupe/server';
import { buildProject, buildSnapshot } from '@troupe/testing';

/** A person with many sessions, questions and answers in turn, as after years of use. */
export async function buildConversations(
  db: Database,
  messages: number,
  perSession = 50,
): Promise<{ project: string; person: string }> {
  const ids = await buildProject(db);
  const snapshot = await buildSnapshot(db, ids);
  const person = newId();
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, display_name, external_id) values ($1, $2, 'human', 'p', 'p')`,
    [person, ids.project],
  );
  await db.pool.query(
    `with t as (insert into troupe.threads (id, project_id, kind, last_message_seq)
        select gen_random_uuid(), $1, 'session', ${perSession} from generate_series(1, $2::int) returning id)
      insert into troupe.sessions (id, project_id, agent_id, entity_id, thread_id) select gen_random_uuid(), $1, $3, $4, t.id from t`,
    [ids.project, Math.ceil(messages / perSession), ids.agent, person],
  );
  await db.pool.query(
    `insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, root_run_id, trigger_type, wall_ms, status, completed_at, outcome)
      select x.id, $1, 'session', $2, $3, $4, x.thread_id, x.id, 'message', 1000, 'completed', now(), '{}'
      from (select gen_random_uuid() as id, s.thread_id from troupe.sessions s, generate_series(1, ${perSession / 2}) where s.entity_id = $5 offset 0) x`,
    [ids.project, ids.agent, ids.entity, snapshot, person],
  );
  await db.pool.query(
    `insert into troupe.messages (thread_id, seq, id, role, content, run_id, sender_id, step)
      select r.thread_id, 2 * r.n - 1 + b, gen_random_uuid(), case b when 0 then 'user' else 'assistant' end::troupe.message_role,
        jsonb_build_object('text', repeat('word ', 40)), case b when 1 then r.id end, case b when 0 then $1::uuid end, nullif(b, 0)
      from (select r.id, r.thread_id, row_number() over (partition by r.thread_id order by r.id) as n
          from troupe.runs r join troupe.sessions s on s.thread_id = r.thread_id and s.entity_id = $1) r, generate_series(0, 1) b`,
    [person],
  );
  await db.pool.query('vacuum analyze troupe.threads, troupe.sessions, troupe.runs, troupe.messages');
  return { project: ids.project, person };
}
