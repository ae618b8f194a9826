// Between the end of one run and the turn of the next there can be a moment, where somebody else holds the next one.
const QUEUED = `exists (select from troupe.runs q where q.thread_id = t.id and q.status = 'queued' and not q.ready)`;

// `a` is the run that is at work in the thread `t`.
const DOING = `case when a.status in ('queued', 'running') then 'running' when a.status is not null then 'waiting'
      when ${QUEUED} then 'running' when t.failed_run_id is not null then 'failed' else 'pending' end`;

/** What the session `s` is doing, alone. */
export const STATUS = `(select ${DOING} from troupe.threads t left join troupe.runs a on a.id = t.active_run_id where t.id = s.thread_id)`;

// Every part is one look into an index, however long the session is.
/** A session as it is shown; `s` is its row, `x.status` what it is doing. */
export const SESSION = `select s.id, s.agent_id as "agentId", s.entity_id as "entityId", s.thread_id as "threadId", s.title, s.tags, s.model_id as "modelId",
    s.policy, s.metadata, s.created_at as "createdAt", s.updated_at as "updatedAt", s.expires_at as "expiresAt", f.started_at as "startedAt", x.status,
    e.completed_at as "finishedAt",
    case when e.id is not null then jsonb_build_object('code', coalesce(e.error->>'code', 'failed'), 'message', coalesce(e.error->>'message', ''), 'runId', e.id) end as error,
    greatest(s.created_at, (select v.created_at from troupe.event_batches v where v.thread_id = s.thread_id and v.last_seq = t.last_event_seq)) as "lastActivityAt",
    (select left(m.content->>'text', 300) from troupe.messages m where m.thread_id = s.thread_id and m.seq = 1) as "firstText"
  from troupe.sessions s
    join troupe.threads t on t.id = s.thread_id
    left join troupe.runs a on a.id = t.active_run_id
    left join troupe.runs e on e.id = t.failed_run_id
    left join lateral (select r.started_at from troupe.runs r where r.thread_id = s.thread_id order by r.created_at limit 1) f on true
    cross join lateral (select ${DOING} as status) x`;
