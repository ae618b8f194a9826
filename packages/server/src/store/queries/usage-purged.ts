// Moves the usage of runs and steps that are about to be deleted into hourly sums. Read together with runs and steps, so
// that reports do not change when runs are deleted.

const hour = (time: string) => `date_bin('1 hour', ${time}, '2000-01-03T00:00:00Z'::timestamptz)`;
const ENDED = 'coalesce(r.completed_at, r.canceled_at)';

/** `rows`: project, hour, agent, network, model and the eight sums. Ordered, so that two purges cannot deadlock. */
const keep = (rows: string) => `insert into troupe.usage_purged as u
    (project_id, at, agent_id, network_id, model, started, completed, failed, canceled, input_tokens, output_tokens, cost)
  select x.project, x.at, x.agent, x.network, x.model, sum(x.started), sum(x.completed), sum(x.failed), sum(x.canceled),
    sum(x.input), sum(x.output), sum(x.cost)
  from (${rows}) x (project, at, agent, network, model, started, completed, failed, canceled, input, output, cost)
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (project_id, at, agent_id, network_id, model) do update set started = u.started + excluded.started,
    completed = u.completed + excluded.completed, failed = u.failed + excluded.failed, canceled = u.canceled + excluded.canceled,
    input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens, cost = u.cost + excluded.cost`;

/** Of the runs of the threads $1. */
export const KEEP_USAGE_OF_RUNS =
  keep(`select r.project_id, ${hour('r.created_at')}, r.agent_id, r.network_id, null, 1, 0, 0, 0, 0, 0, 0
    from troupe.runs r where r.thread_id = any($1)
  union all select r.project_id, ${hour(ENDED)}, r.agent_id, r.network_id, null, 0, (r.status = 'completed')::int,
      (r.status = 'failed')::int, (r.status = 'canceled')::int, r.input_tokens, r.output_tokens, r.cost
    from troupe.runs r where r.thread_id = any($1) and r.status in ('completed', 'failed', 'canceled')`);

const keepSteps = (which: string) =>
  keep(`select r.project_id, ${hour('s.finished_at')}, null::uuid, null::uuid, s.provider || '/' || s.model, 0, 0, 0, 0,
      s.input_tokens, s.output_tokens, s.cost
    from troupe.runs r join troupe.run_steps s on s.run_id = r.id where ${which}`);

/** Of the steps of the runs of the threads $1. */
export const KEEP_USAGE_OF_STEPS = keepSteps('r.thread_id = any($1)');
/** Of the steps of the runs $1. */
export const KEEP_USAGE_OF_STEPS_OF = keepSteps('r.id = any($1)');
