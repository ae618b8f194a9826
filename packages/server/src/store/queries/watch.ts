import type { ChangedCollection } from '@troupe/protocol';
import { firstIdAt } from '../../base/index.ts';
import type { Database } from '../database.ts';
import { BELOW } from './stamps.ts';

export interface Watched {
  /** Everything before this transaction was told. */
  below: number;
  generation: string;
  changes: {
    project: string;
    collection: ChangedCollection;
    /** Null: too many, or some are gone. */
    ids: string[] | null;
    /** Of what has no transaction: the same as long as nothing has changed. */
    mark: string | null;
  }[];
}

const MOST_IDS = 50;
/** Deliveries have no stamp: those of the last seconds are compared with what they were at the look before. */
const DELIVERIES_MS = 5_000;

const SINCE = (row: string) => `${row}.xid >= $1 and ${row}.xid < (select h.below from horizon h)`;

/**
 * Which lists of these projects have changed since a transaction: the same looks into the ends of indexes as for those who follow
 * collections, without whose it is.
 */
export async function lookForWatchers(db: Database, since: number, projects: string[]): Promise<Watched> {
  const rows = await db.run<{
    below: number;
    generation: string;
    project: string | null;
    collection: ChangedCollection;
    ids: string[];
    count: number;
    gone: boolean;
    mark: string | null;
  }>(
    {
      name: 'look_for_watchers',
      plannedAnew: true,
      text: `with horizon as materialized (select ${BELOW} as below, troupe.sync_generation() as generation),
        run as materialized (select r.id, r.project_id, r.thread_id, r.door from troupe.runs r where ${SINCE('r')} and r.project_id = any($2)),
        changed as (
          select 'runs' as collection, r.project_id, r.id, false as gone from run r
          union all select 'sessions', s.project_id, s.id, false from run r join troupe.sessions s on s.thread_id = r.thread_id where r.door = 'session'
          union all select 'sessions', s.project_id, s.id, false from troupe.sessions s where ${SINCE('s')} and s.project_id = any($2)
          union all select 'spaces', s.project_id, s.id, false from troupe.spaces s where ${SINCE('s')} and s.project_id = any($2)
          union all select 'spaces', s.project_id, s.id, false from troupe.memberships m join troupe.spaces s on s.id = m.space_id where ${SINCE('m')} and s.project_id = any($2)
          union all select 'tasks', t.project_id, t.id, false from troupe.tasks t where ${SINCE('t')} and t.project_id = any($2)
          union all select 'inbox', r.project_id, r.id, false from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
            where ${SINCE('c')} and (c.waits_for is not null or c.settled_by is not null or c.status in ('expired', 'canceled')) and r.project_id = any($2)
          union all select case x.collection when 'memberships' then 'spaces' else x.collection end, x.project_id, null, true from troupe.tombstones x
            where ${SINCE('x')} and x.project_id = any($2) and x.collection in ('runs', 'sessions', 'spaces', 'memberships', 'tasks')),
        listed as (
          select c.collection, c.project_id, count(distinct c.id)::int as count, (array_agg(distinct c.id::text))[1:${MOST_IDS}] as ids, bool_or(c.gone) as gone, null as mark
            from changed c group by 1, 2
          union all
          select 'deliveries', d.project_id, count(*)::int, (array_agg(d.id::text))[1:${MOST_IDS}], false, md5(string_agg(d.id || d.status || d.attempts, ',' order by d.id))
            from (select x.id, x.project_id, x.status, x.attempts from troupe.trigger_deliveries x where x.project_id = any($2) and x.id >= $3
              union select x.id, x.project_id, x.status, x.attempts from troupe.trigger_deliveries x
                where x.status in ('delivered', 'dead') and x.ended_at > now() - interval '${DELIVERIES_MS} milliseconds' and x.project_id = any($2)) d group by 2)
        select h.below, h.generation, l.project_id as project, l.collection, l.ids, l.count, l.gone, l.mark from horizon h left join listed l on true`,
      values: [since, projects, firstIdAt(Date.now() - DELIVERIES_MS)],
    },
    db.pool,
  );
  const { below, generation } = rows[0]!;
  const changes = rows.flatMap(({ project, collection, ids, count, gone, mark }) =>
    project === null ? [] : [{ project, collection, ids: gone || count > MOST_IDS ? null : ids, mark }],
  );
  return { below, generation, changes };
}
