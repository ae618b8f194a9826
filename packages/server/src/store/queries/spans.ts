import type { Json } from '@troupe/protocol';
import type { Database } from '../database.ts';

/** A run that has ended, as it is told of: no content. */
export interface EndedRun {
  id: string;
  lives: number;
  projectId: string;
  rootRunId: string;
  parent: { id: string; lives: number } | null;
  door: string;
  status: 'completed' | 'failed' | 'canceled';
  /** The code of its error, or why it was canceled. */
  reason: string | null;
  agentId: string | null;
  agentName: string | null;
  sessionId: string | null;
  threadId: string;
  network: { name: string; version: number } | null;
  startedAt: Date;
  endedAt: Date;
  epoch: number;
  takeovers: number;
  inputTokens: number;
  outputTokens: number;
  traceparent: string | null;
  /** Those of this life. */
  steps: EndedStep[];
}

export interface EndedStep {
  step: number;
  agentKey: string | null;
  /** Milliseconds since 1970; the end is that of its last call. */
  startedAt: number;
  endedAt: number;
  epoch: number;
  attempt: number;
  inputTokens: number;
  outputTokens: number;
  finishReason: string;
  decision: Json;
}

/**
 * Runs that failed or were canceled within the last `withinMs` and that nobody was told of; whoever asks tells of them. By the clock of the
 * database, which noted when they ended.
 */
export async function takeEnded(db: Database, withinMs: number, limit: number): Promise<string[]> {
  const rows = await db.run<{ run_id: string }>({
    name: 'take_ended',
    text: `delete from troupe.ended_runs e where (e.run_id, e.lives) in (
        select x.run_id, x.lives from troupe.ended_runs x where x.ended_at >= now() - make_interval(secs => $2::float8 / 1000)
        order by x.ended_at limit $1 for update skip locked) returning e.run_id`,
    values: [limit, withinMs],
  });
  return rows.map((row) => row.run_id);
}

/** Those of the runs that have ended. A life begins when its time does; the first one as the run does. */
export async function endedRuns(db: Database, ids: readonly string[]): Promise<EndedRun[]> {
  return db.run<EndedRun>(
    {
      name: 'ended_runs',
      text: `select r.id, r.lives, r.project_id as "projectId", r.root_run_id as "rootRunId", r.door, r.status,
          coalesce(r.error->>'code', r.cancel_reason::text) as reason, r.agent_id as "agentId", a.name as "agentName", s.id as "sessionId",
          r.thread_id as "threadId", life.began as "startedAt", coalesce(r.completed_at, r.canceled_at) as "endedAt", r.epoch,
          r.takeovers_in_all as takeovers, r.input_tokens as "inputTokens", r.output_tokens as "outputTokens", r.metadata->>'traceparent' as traceparent,
          case when p.id is not null then jsonb_build_object('id', p.id, 'lives', p.lives) end as parent,
          case when n.id is not null then jsonb_build_object('name', n.name, 'version', r.network_version) end as network,
          (select coalesce(jsonb_agg(jsonb_build_object('step', x.step, 'agentKey', x.agent_key, 'epoch', x.epoch, 'attempt', x.attempt,
              'startedAt', extract(epoch from x.started_at) * 1000, 'endedAt', extract(epoch from greatest(x.finished_at,
                (select max(c.settled_at) from troupe.tool_calls c where c.run_id = r.id and c.step = x.step))) * 1000,
              'inputTokens', x.input_tokens, 'outputTokens', x.output_tokens, 'finishReason', x.finish_reason, 'decision', x.decision)
              order by x.step), '[]') from troupe.run_steps x
            where x.run_id = r.id and (r.lives = 1 or x.finished_at >= life.began)) as steps
        from troupe.runs r
          cross join lateral (select case when r.lives = 1 then coalesce(r.started_at, r.created_at)
            else coalesce(r.deadline_at - make_interval(secs => r.wall_ms::float8 / 1000), r.run_at) end as began) life
          -- A sub-agent that was replied to by a later run is of the trace that it began in.
          left join troupe.runs p on p.id = r.parent_run_id and p.root_run_id = r.root_run_id
          left join troupe.agents a on a.id = r.agent_id
          left join troupe.sessions s on s.thread_id = r.thread_id
          left join troupe.networks n on n.id = r.network_id
        where r.id = any($1) and r.status in ('completed', 'failed', 'canceled')`,
      values: [ids],
    },
    db.pool,
  );
}

/** Ended runs that no worker exported in time. */
export async function purgeEndedRuns(db: Database, limit = 1_000): Promise<number> {
  const { rowCount } = await db.pool.query(
    `delete from troupe.ended_runs x where (x.run_id, x.lives) in (select o.run_id, o.lives from troupe.ended_runs o
        where o.ended_at < now() - interval '10 minutes' order by o.ended_at limit $1 for update skip locked)`,
    [limit],
  );
  return rowCount ?? 0;
}
