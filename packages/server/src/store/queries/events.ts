import type { Json, JsonObject, WaitsFor } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { worksFor } from './runs.ts';

/** A thread's log of events, as far as reading it needs to know. */
export interface ThreadLog {
  /** Null where the thread is no session's. */
  session: string | null;
  /** Null where it is no space's. */
  space: string | null;
  thread: string;
  lastSequence: number;
  /** Runs at work or waiting, the latest last. */
  runs: { id: string; status: string }[];
  /** Calls of these that wait for somebody outside; `deadline` in milliseconds. */
  calls: {
    id: string;
    runId: string;
    tool: string;
    waitsFor: WaitsFor;
    deadline: number | null;
    /** In a space, where the tool shows them there. */
    arguments?: Json;
  }[];
  /** In a space: who is at work there. */
  activeAgents?: { runId: string; entityId: string; agentName: string | null }[];
}

// Runs of a session go one after the other, so those that have not ended are among its last. `x` is what leads to the thread.
const logOf = (
  from: string,
) => `select s.id as session, null::uuid as space, x.thread_id as thread, coalesce(t.last_event_seq, 0) as "lastSequence", o.runs,
    coalesce((select jsonb_agg(jsonb_build_object('id', c.call_id, 'runId', c.run_id, 'tool', c.tool, 'waitsFor', c.waits_for,
        'deadline', floor(extract(epoch from c.deadline) * 1000)) order by c.run_id, c.step, c.position)
      from troupe.tool_calls c where c.run_id = any(o.ids) and c.waits_for is not null), '[]') as calls
  from ${from} left join troupe.threads t on t.id = x.thread_id
    cross join lateral (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'status', r.status) order by r.created_at, r.id), '[]') as runs,
        array_agg(r.id) as ids from (
      select id, status, created_at from troupe.runs where thread_id = x.thread_id order by created_at desc limit 200) r
      where r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')) o`;

/** Null where there is no such session for this caller. `entity`: only where it belongs to them; null: to anybody. */
export async function findSessionLog(
  db: Database,
  project: string,
  { agent, session, entity }: { agent: string; session: string; entity: string | null },
): Promise<ThreadLog | null> {
  const rows = await db.run<ThreadLog>(
    {
      name: 'find_session_log',
      text: `${logOf('troupe.sessions x join troupe.sessions s on s.id = x.id')}
        where s.id = $1 and s.agent_id = $2 and s.project_id = $3 and ($4::uuid is null or s.entity_id = $4)`,
      values: [session, agent, project, entity],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The log of the thread that a run works in. A person reaches the runs of their own sessions, as with the run itself. */
export async function findRunLog(
  db: Database,
  project: string,
  { run, entity }: { run: string; entity: string | null },
): Promise<ThreadLog | null> {
  const rows = await db.run<ThreadLog>(
    {
      name: 'find_run_log',
      text: `${logOf('troupe.runs x left join troupe.sessions s on s.thread_id = x.thread_id')}
        where x.id = $1 and x.project_id = $2 and ($3::uuid is null or s.entity_id = $3 or ${worksFor('x', '$3')})`,
      values: [run, project, entity],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/**
 * The log of a space. Its runs work in threads of their own: those that began there or speak there are meant. `entity`: only where they are a
 * member; null: a key asks.
 */
export async function findSpaceLog(
  db: Database,
  project: string,
  { space, entity }: { space: string; entity: string | null },
): Promise<ThreadLog | null> {
  const rows = await db.run<ThreadLog & Record<string, unknown>>(
    {
      name: 'find_space_log',
      text: `with open as (select r.id, r.status, r.entity_id, r.started_at, r.snapshot_id, e.display_name from troupe.runs r left join troupe.entities e on e.id = r.entity_id
          where (r.space_id = $1 or r.active_space_id = $1) and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply'))
        select null::uuid as session, s.id as space, s.id as thread, t.last_event_seq as "lastSequence",
          coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'status', o.status) order by o.id) from open o), '[]') as runs,
          coalesce((select jsonb_agg(jsonb_build_object('runId', o.id, 'entityId', o.entity_id, 'agentName', o.display_name) order by o.id)
            from open o where o.started_at is not null), '[]') as "activeAgents",
          coalesce((select jsonb_agg(jsonb_build_object('id', c.call_id, 'runId', c.run_id, 'tool', c.tool, 'waitsFor', c.waits_for,
              'deadline', floor(extract(epoch from c.deadline) * 1000))
              || case when w.shown then jsonb_build_object('arguments', c.args) else '{}' end order by c.run_id, c.step, c.position)
            from open o join troupe.tool_calls c on c.run_id = o.id and c.waits_for in ('client', 'approval', 'person')
              join troupe.compiled_snapshots n on n.id = o.snapshot_id
              cross join lateral (select jsonb_path_exists(n.compiled, '$.tools[*] ? (@.name == $tool && @.shown.when == "always" && @.shown.input == true)',
                jsonb_build_object('tool', c.tool)) as shown) w), '[]') as calls
        from troupe.spaces s join troupe.threads t on t.id = s.id
        where s.id = $1 and s.project_id = $2
          and ($3::uuid is null or exists (select from troupe.memberships m where m.space_id = s.id and m.entity_id = $3))`,
      values: [space, project, entity],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface StoredEvent {
  seq: number;
  type: string;
  data: JsonObject | null;
  runId: string | null;
  step: number | null;
  createdAt: Date;
  /** The message that it tells of. */
  messageId: string | null;
  messageSeq: number | null;
}

/** What is wanted of a log; null: all. `types`: patterns of LIKE, any of which must fit. */
export interface EventFilter {
  types: string[] | null;
  run: string | null;
}

// `offset 0` keeps the planner from counting the entries of a batch again for each of them, which parses all of them each time.
const selectEvents = `select e.seq, e.type, e.data, e.run_id as "runId", e.step, b.created_at as "createdAt", m.id as "messageId", e.message_seq as "messageSeq"
        from troupe.event_batches b cross join lateral (
            select b.last_seq - c.length + x.position as seq, x.entry->>0 as type, (x.entry->>1)::jsonb as data,
              b.message_seq + (x.entry->>2)::int as message_seq, (x.entry->>3)::int as step, coalesce((x.entry->>4)::uuid, b.run_id) as run_id
            from (select json_array_length(b.entries) as length offset 0) c
              cross join lateral json_array_elements(b.entries) with ordinality x(entry, position)) e
          left join troupe.messages m on m.thread_id = b.thread_id and m.seq = e.message_seq`;

/** What comes after a sequence, in order. */
export async function eventsAfter(
  db: Database,
  thread: string,
  after: number,
  limit: number,
  { types, run }: EventFilter = { types: null, run: null },
): Promise<StoredEvent[]> {
  return db.run<StoredEvent & Record<string, unknown>>(
    {
      name: 'events_after',
      text: `${selectEvents}
        where b.thread_id = $1 and b.last_seq > $2 and e.seq > $2 and ($4::text[] is null or e.type like any ($4)) and ($5::uuid is null or e.run_id = $5)
        order by b.last_seq, e.seq limit $3`,
      values: [thread, after, limit, types, run],
    },
    db.pool,
  );
}

/** The last ones before a sequence, in order. */
export async function eventsBefore(
  db: Database,
  thread: string,
  { after, before }: { after: number; before: number },
  limit: number,
  { types, run }: EventFilter,
): Promise<StoredEvent[]> {
  const found = await db.run<StoredEvent & Record<string, unknown>>(
    {
      name: 'events_before',
      text: `${selectEvents}
        where b.thread_id = $1 and b.last_seq > $2 and e.seq > $2 and e.seq < $6 and ($4::text[] is null or e.type like any ($4)) and ($5::uuid is null or e.run_id = $5)
          and b.last_seq <= coalesce((select min(y.last_seq) from troupe.event_batches y where y.thread_id = $1 and y.last_seq >= $6), $6)
        order by b.last_seq desc, e.seq desc limit $3`,
      values: [thread, after, limit, types, run, before],
    },
    db.pool,
  );
  return found.reverse();
}

/** How far the logs of these threads have come; a thread that is gone is missing. */
export async function lastEvents(db: Database, threads: string[]): Promise<Map<string, number>> {
  const rows = await db.run<{ id: string; last: number }>(
    {
      name: 'last_events',
      text: 'select id, last_event_seq as last from troupe.threads where id = any($1)',
      values: [threads],
    },
    db.pool,
  );
  return new Map(rows.map((row) => [row.id, row.last]));
}
