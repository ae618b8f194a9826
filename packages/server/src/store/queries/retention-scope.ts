import { OPEN } from './open-runs.ts';

/** What a retention rule applies to. */
export interface Scope {
  project: string;
  /** Null: all agents of the project. */
  agents: string[] | null;
  /** Data is deleted that is older. */
  cutoff: Date;
}

/** What a batch of a purge did. */
export interface Purged {
  rows: number;
  /** There may be more to do. */
  more: boolean;
}

const REFERS_TO = `unnest(array[r.id, r.root_run_id, r.parent_run_id,
  case when r.trigger_type = 'fork' then (r.trigger->>'forkedFrom')::uuid end])`;
/** Runs that have not ended, and the runs that these refer to: root, parent and source of a fork. */
export const LIVE_RUNS = OPEN.map(
  (open) => `select ${REFERS_TO} as id from troupe.runs r where ${open}`,
).join(' union ');
/** The threads of these. */
export const LIVE_THREADS = `select o.thread_id from (${LIVE_RUNS}) x join troupe.runs o on o.id = x.id`;
