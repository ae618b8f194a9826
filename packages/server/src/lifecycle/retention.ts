import type { AgentRetention, JsonObject, PurgeKind, PurgePreview, Retention } from '@troupe/protocol';
import { notFound } from '../base/index.ts';
import * as store from '../store/index.ts';

export async function getRetention(
  db: store.Database,
  project: string,
): Promise<{ project: Retention; agents: { agentId: string; rules: AgentRetention }[] }> {
  const rows = await store.listRetention(db, project);
  return {
    project: rows.find(({ agentId }) => agentId === null)?.rules ?? {},
    agents: rows.flatMap(({ agentId, rules }) => (agentId === null ? [] : [{ agentId, rules }])),
  };
}

export async function setRetention(
  db: store.Database,
  author: store.Author,
  rules: Retention,
): Promise<Retention> {
  await save(db, author, null, rules);
  return rules;
}

export async function setAgentRetention(
  db: store.Database,
  author: store.Author,
  agent: string,
  rules: AgentRetention,
): Promise<AgentRetention> {
  if ((await store.agentStatus(db, author.project, agent)) === null) throw notFound('agent');
  await save(db, author, agent, rules);
  return rules;
}

async function save(
  db: store.Database,
  author: store.Author,
  agent: string | null,
  rules: Retention | AgentRetention,
): Promise<void> {
  await store.inTransaction(db, async (rows) => {
    await store.saveRetention(rows, author.project, agent, rules);
    const data = { ...(agent === null ? {} : { agentId: agent }), rules: rules as JsonObject };
    await store.noteChange(rows, author, { action: 'retention.changed', target: author.project, data });
  });
}

/** Counting stops here. */
const MAX_COUNT = 10_000;
const RUN_TABLES = ['runs', 'run_heads', 'run_steps', 'tool_calls', 'run_prompts', 'run_shown'];
const STEP_TABLES = RUN_TABLES.slice(1);

interface Counted {
  count: number;
  oldest: Date | string | null;
  bytes: number;
}

/** What a purge would delete now. */
export async function previewRetention(db: store.Database, project: string): Promise<PurgePreview> {
  const averages = await readAverages(db);
  const counted = new Map<PurgeKind, Counted[]>();
  const note = (kind: PurgeKind, counts: Counted) =>
    counted.set(kind, [...(counted.get(kind) ?? []), counts]);
  const times = <Of extends { count: number; oldest: Date | null }>(found: Of, bytes: number): Counted => ({
    ...found,
    bytes: found.count * bytes,
  });

  const expired = await store.countExpiredSessions(db, project, MAX_COUNT);
  note('expiredSessions', { ...expired, bytes: expired.messages * averages.perMessage });
  const [scopes] = await store.retentionScopes(db, project);
  for (const scope of scopes?.sessions ?? []) {
    const found = await store.countSessions(db, scope, MAX_COUNT);
    note('sessions', { ...found, bytes: found.messages * averages.perMessage });
  }
  for (const scope of scopes?.runs ?? []) {
    const due = (await unpurgedRuns(db, scope)).filter(({ alone, free }) => alone && free);
    note('runs', ofRuns(due, averages.perRun));
    note('plans', times(await store.countPlans(db, scope, MAX_COUNT), averages.perPlan));
    if (scope.agents === null)
      note('batches', times(await store.countBatches(db, scope, MAX_COUNT), averages.perBatch));
  }
  for (const scope of scopes?.results ?? []) {
    const due = (await unpurgedRuns(db, scope)).filter(({ free, hasSteps }) => free && hasSteps);
    note('results', ofRuns(due, averages.perSteps));
  }
  for (const scope of scopes?.events ?? []) {
    const runs = (await unpurgedRuns(db, scope)).filter(({ kind, free }) => kind === 'session' && free);
    const spaces = scope.agents === null ? await store.spacesWithOldEvents(db, scope, MAX_COUNT) : [];
    const threads = [...new Set(runs.map(({ threadId }) => threadId)), ...spaces];
    const found = await store.countEvents(db, threads, scope.cutoff, MAX_COUNT);
    note('events', times(found, averages.perEvents));
  }
  for (const scope of scopes?.files ?? []) {
    const from = store.startAt(await store.readProgress(db, project, scope.key));
    const due = (await store.oldFiles(db, scope, from, MAX_COUNT)).filter((file) => file.due && file.free);
    const bytes = due.reduce((sum, file) => sum + file.bytes, 0);
    note('files', { count: due.length, oldest: due[0]?.at ?? null, bytes });
  }
  for (const scope of scopes?.deliveries ?? [])
    note('deliveries', times(await store.countDeliveries(db, scope, MAX_COUNT), averages.perDelivery));
  for (const scope of scopes?.audit ?? [])
    note('audit', times(await store.countAudit(db, scope, MAX_COUNT), averages.perAudit));
  return { data: [...counted].map(([kind, counts]) => ({ kind, ...summed(counts) })) };
}

async function unpurgedRuns(db: store.Database, scope: store.RuleScope): Promise<store.ExpiredRun[]> {
  const from = store.startAt(await store.readProgress(db, scope.project, scope.key));
  return store.expiredRuns(db, scope, from, MAX_COUNT);
}

function ofRuns(runs: readonly store.ExpiredRun[], bytes: number): Counted {
  return { count: runs.length, oldest: runs[0]?.endedAt ?? null, bytes: runs.length * bytes };
}

function summed(counts: Counted[]) {
  const oldest = counts.flatMap(({ oldest }) => (oldest === null ? [] : [new Date(oldest).getTime()]));
  return {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    bytes: Math.round(counts.reduce((sum, { bytes }) => sum + bytes, 0)),
    oldest: oldest.length === 0 ? null : new Date(Math.min(...oldest)).toISOString(),
    truncated: counts.some(({ count }) => count >= MAX_COUNT),
  };
}

async function readAverages(db: store.Database) {
  const per = (table: string, tables: string[] = [table]) => store.averageBytes(db, table, tables);
  return {
    perMessage: await per('messages', ['messages', 'event_batches', 'threads', 'sessions', ...RUN_TABLES]),
    perRun: await per('runs', ['messages', 'event_batches', 'threads', ...RUN_TABLES]),
    perSteps: await per('runs', STEP_TABLES),
    perPlan: await per('plans'),
    perBatch: await per('network_batches', ['network_batches', 'network_batch_rows', 'network_batch_items']),
    perEvents: await per('event_batches'),
    perDelivery: await per('trigger_deliveries', ['trigger_deliveries', 'trigger_attempts']),
    perAudit: await per('audit_log'),
  };
}
