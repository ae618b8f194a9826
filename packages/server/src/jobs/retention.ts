import {
  addAuditEntry,
  addJob,
  type Database,
  deleteOldFiles,
  deleteRuns,
  type ExpiredRun,
  emptyDeletedThreads,
  expiredRuns,
  forgetProgress,
  keepResults,
  type OldFile,
  oldFiles,
  purgeAudit,
  purgeBatches,
  purgeEvents,
  purgeExpiredSessions,
  purgePlans,
  purgeProjectDeliveries,
  purgeSessions,
  type RetentionScopes,
  type RuleScope,
  readProgress,
  retentionScopes,
  saveProgress,
  spacesWithOldEvents,
  startAt,
  type TimePosition,
} from '../store/index.ts';
import { type Purge, runPurges } from './purge.ts';
import type { CronEntry, Task, TaskContext } from './task.ts';

// Deletes data by the retention rules, in batches. Everything that a batch decides is decided again under locks, so any
// number of processes can do this at once, and one that dies leaves nothing half done.

/** The task, and its queue. */
const RETENTION = 'retention';

/** Sessions per transaction. */
const SESSIONS = 50;
/** Ended runs or files that are read per batch. */
const PAGE = 200;

type Step<Row> = (rows: Row[]) => Promise<{ rows: number; held: string | null }>;
interface Walked {
  at: string;
  id: string;
}

/**
 * Goes through rows in the order of time, from where the last purge came to. It remembers the time of the first row that
 * had to be kept (`held`), so that the next purge looks at it again.
 */
function walk<Row>(
  scope: RuleScope,
  read: (db: Database, after: TimePosition, limit: number) => Promise<Row[]>,
  position: (row: Row) => Walked,
  step: (db: Database) => Step<Row>,
): Purge['batch'] {
  let after: TimePosition | null = null;
  let held: string | null = null;
  return async (db, limit) => {
    after ??= startAt(await readProgress(db, scope.project, scope.key));
    const page = await read(db, after, limit);
    if (page.length === 0) return { rows: 0, more: false };
    const done = await step(db)(page);
    held ??= done.held;
    after = position(page.at(-1)!);
    await saveProgress(db, scope.project, scope.key, held ?? after.at);
    return { rows: done.rows, more: page.length === limit };
  };
}

function walkRuns(scope: RuleScope, step: (db: Database) => Step<ExpiredRun>): Purge['batch'] {
  return walk(
    scope,
    (db, after, limit) => expiredRuns(db, scope, after, limit),
    ({ endedAt, id }) => ({ at: endedAt, id }),
    step,
  );
}

const firstOf = (runs: readonly ExpiredRun[]) => runs[0]?.endedAt ?? null;

function runsOf(scope: RuleScope): Purge['batch'] {
  return walkRuns(scope, (db) => async (runs) => {
    const alone = runs.filter((run) => run.alone);
    const free = alone.filter((run) => run.free);
    const rows = await deleteRuns(db, free, scope.cutoff);
    return { rows, held: firstOf(rows < free.length ? alone : alone.filter((run) => !run.free)) };
  });
}

function resultsOf(scope: RuleScope): Purge['batch'] {
  return walkRuns(scope, (db) => async (runs) => {
    const { rows, skipped } = await keepResults(
      db,
      runs.filter((run) => run.free),
      scope.cutoff,
    );
    return { rows, held: firstOf(runs.filter((run) => !run.free || skipped.includes(run.id))) };
  });
}

/** The events of sessions are found by the runs that wrote them. */
function eventsOf(scope: RuleScope): Purge['batch'] {
  return walkRuns(scope, (db) => async (runs) => {
    const inSessions = runs.filter(({ kind }) => kind === 'session');
    const free = inSessions.filter((run) => run.free);
    const rows = await purgeAllEvents(db, [...new Set(free.map(({ threadId }) => threadId))], scope.cutoff);
    return { rows, held: firstOf(inSessions.filter((run) => !run.free)) };
  });
}

const EVENTS = 1_000;

async function purgeAllEvents(db: Database, threads: string[], cutoff: Date): Promise<number> {
  let rows = 0;
  for (let more = threads.length > 0; more; ) {
    const purged = await purgeEvents(db, threads, cutoff, EVENTS);
    rows += purged.rows;
    more = purged.more;
  }
  return rows;
}

async function eventsOfSpaces(scope: RuleScope, db: Database, limit: number) {
  const rows = await purgeAllEvents(db, await spacesWithOldEvents(db, scope, limit), scope.cutoff);
  return { rows, more: rows >= limit };
}

function filesOf(scope: RuleScope): Purge['batch'] {
  return walk<OldFile>(
    scope,
    (db, after, limit) => oldFiles(db, scope, after, limit),
    ({ at, threadId }) => ({ at, id: threadId }),
    (db) => async (files) => {
      const due = files.filter((file) => file.due);
      const rows = await deleteOldFiles(
        db,
        due.filter((file) => file.free),
        scope.cutoff,
      );
      return { rows, held: due.find((file) => !file.free)?.at ?? null };
    },
  );
}

type Counts = Map<string, Record<string, number>>;

/** All purges that the rules of a project ask for. */
function purgesOf(scopes: RetentionScopes, counts: Counts): Purge[] {
  const ofProject: Record<string, number> = {};
  counts.set(scopes.project, ofProject);
  const purge = (name: string, batch: Purge['batch'], limit = PAGE): Purge => ({
    name,
    limit,
    batch: async (db, most) => {
      const done = await batch(db, most);
      const rows = typeof done === 'number' ? done : done.rows;
      if (rows > 0) ofProject[name] = (ofProject[name] ?? 0) + rows;
      return done;
    },
  });
  const wholeProject = (list: RuleScope[]) => list.filter(({ agents }) => agents === null);
  return [
    ...scopes.sessions.map((scope) =>
      purge('sessions', (db, limit) => purgeSessions(db, scope, limit), SESSIONS),
    ),
    ...wholeProject(scopes.runs).map((scope) => purge('batches', (db) => purgeBatches(db, scope))),
    ...scopes.runs.map((scope) => purge('runs', runsOf(scope))),
    ...scopes.runs.map((scope) => purge('plans', (db, limit) => purgePlans(db, scope, limit))),
    ...scopes.results.map((scope) => purge('results', resultsOf(scope))),
    ...scopes.events.map((scope) => purge('events', eventsOf(scope))),
    ...wholeProject(scopes.events).map((scope) =>
      purge('events', (db, limit) => eventsOfSpaces(scope, db, limit), EVENTS),
    ),
    ...scopes.files.map((scope) => purge('files', filesOf(scope))),
    ...scopes.deliveries.map((scope) =>
      purge('deliveries', (db, limit) => purgeProjectDeliveries(db, scope, limit), EVENTS),
    ),
    ...scopes.audit.map((scope) => purge('audit', (db, limit) => purgeAudit(db, scope, limit), EVENTS)),
  ];
}

/** Deletes what has expired. While some is left, the next job follows at once. */
async function retain(context: TaskContext, forMs?: number): Promise<void> {
  const { db, logger } = context;
  const all = await retentionScopes(db, null);
  const counts: Counts = new Map();
  const purges: Purge[] = [
    { name: 'expiredSessions', limit: SESSIONS, batch: (_, limit) => purgeExpiredSessions(db, limit) },
    ...all.flatMap((scopes) => purgesOf(scopes, counts)),
    { name: 'deletedThreads', batch: async () => ({ rows: 0, more: await emptyDeletedThreads(db) }) },
  ];
  const { counts: total, unfinished } = await runPurges(purges, context, forMs);
  if (Object.keys(total).length > 0) logger.info(total, 'purged by retention rules');
  for (const [project, purged] of counts)
    if (Object.keys(purged).length > 0)
      await addAuditEntry(db.rows, {
        project,
        actorKind: 'system',
        actorId: null,
        action: 'retention.purged',
        target: null,
        data: purged,
      });
  if (unfinished) await addJob(db, RETENTION, {}, { key: RETENTION, queue: RETENTION });
  else
    for (const { project, ...kinds } of all)
      await forgetProgress(
        db,
        project,
        Object.values(kinds).flatMap((scopes) => scopes.map(({ key }) => key)),
      );
}

export function retentionTasks(forMs?: number): Record<string, Task> {
  return { [RETENTION]: (_payload, context) => retain(context, forMs) };
}

export const retentionCron: CronEntry = { task: RETENTION, pattern: '*/10 * * * *', queue: RETENTION };
