import { createHash } from 'node:crypto';
import type { AgentRetention, Retention } from '@troupe/protocol';
import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Scope } from './retention-scope.ts';

const DAY_MS = 86_400_000;

/** The rules of a project (`agentId` null) or of one of its agents. */
export interface RetentionRow {
  projectId: string;
  agentId: string | null;
  rules: Retention;
}

/** Of one project, or of all. */
export async function listRetention(db: Database, project: string | null): Promise<RetentionRow[]> {
  return db.run<RetentionRow & Record<string, unknown>>(
    {
      name: 'list_retention',
      text: `select x.project_id as "projectId", x.agent_id as "agentId", x.rules from troupe.retention_rules x
        where $1::uuid is null or x.project_id = $1 order by x.project_id, x.agent_id nulls first`,
      values: [project],
    },
    db.pool,
  );
}

/** Replaces the rules. Empty rules are no rules. */
export async function saveRetention(
  on: Rows,
  project: string,
  agent: string | null,
  rules: Retention | AgentRetention,
): Promise<void> {
  if (Object.keys(rules).length === 0) {
    await sql`delete from troupe.retention_rules x where x.project_id = ${project} and x.agent_id is not distinct from ${agent}::uuid`.execute(
      on,
    );
    return;
  }
  await sql`insert into troupe.retention_rules (project_id, agent_id, rules) values (${project}, ${agent}, ${toJsonText(rules)}::jsonb)
    on conflict (project_id, agent_id) do update set rules = excluded.rules, updated_at = now()`.execute(on);
}

export interface RuleScope extends Scope {
  /** Names the rule and what it applies to. */
  key: string;
}

/** How a purge reads the rules of one project: by kind, the scopes that rules of the project and of its agents make. */
export interface RetentionScopes {
  project: string;
  sessions: RuleScope[];
  results: RuleScope[];
  runs: RuleScope[];
  events: RuleScope[];
  files: RuleScope[];
  deliveries: RuleScope[];
  audit: RuleScope[];
}

type DaysOf = (rules: Retention) => number | undefined;
const DAYS: Record<Exclude<keyof RetentionScopes, 'project'>, DaysOf> = {
  sessions: ({ sessions }) => sessions?.deleteAfterDays,
  results: ({ runs }) => runs?.keepResultAfterDays,
  runs: ({ runs }) => runs?.deleteAfterDays,
  events: ({ events }) => events?.deleteAfterDays,
  files: ({ files }) => files?.deleteAfterDays,
  deliveries: ({ deliveries }) => deliveries?.deleteAfterDays,
  audit: ({ audit }) => audit?.deleteAfterDays,
};

/** Of every project with rules. Of the rules of an agent and of its project the shorter time applies. */
export async function retentionScopes(db: Database, project: string | null): Promise<RetentionScopes[]> {
  const rows = await listRetention(db, project);
  const now = (await db.pool.query<{ now: Date }>('select now() as now')).rows[0]!.now.getTime();
  const byProject = Map.groupBy(rows, ({ projectId }) => projectId);
  return [...byProject].map(([id, ofProject]) => {
    const scopes = Object.entries(DAYS).map(([kind, daysOf]) => {
      const general = ofProject.find(({ agentId }) => agentId === null);
      const most = (general && daysOf(general.rules)) ?? Number.POSITIVE_INFINITY;
      const stricter = ofProject.filter(
        ({ agentId, rules }) => agentId !== null && (daysOf(rules) ?? most) < most,
      );
      const scope = (days: number, agents: string[] | null): RuleScope => ({
        project: id,
        agents,
        cutoff: new Date(now - days * DAY_MS),
        key: `${kind}:${days}:${agents === null ? '*' : createHash('sha256').update(agents.join()).digest('hex').slice(0, 16)}`,
      });
      const groups = Map.groupBy(stricter, ({ rules }) => daysOf(rules)!);
      return [
        kind,
        [
          ...(Number.isFinite(most) ? [scope(most, null)] : []),
          ...[...groups].map(([days, agents]) =>
            scope(
              days,
              agents.map(({ agentId }) => agentId!),
            ),
          ),
        ],
      ];
    });
    return { project: id, ...Object.fromEntries(scopes) } as RetentionScopes;
  });
}

/** How far the purge with this key has come. */
export async function readProgress(db: Database, project: string, key: string): Promise<string> {
  const rows = await db.run<{ upto: string }>(
    {
      name: 'read_retention_progress',
      text: 'select upto::text as upto from troupe.retention_progress where project_id = $1 and key = $2',
      values: [project, key],
    },
    db.pool,
  );
  return rows[0]?.upto ?? '-infinity';
}

export async function saveProgress(db: Database, project: string, key: string, upto: string): Promise<void> {
  await db.run(
    {
      name: 'save_retention_progress',
      text: `insert into troupe.retention_progress (project_id, key, upto) values ($1, $2, $3::timestamptz)
        on conflict (project_id, key) do update set upto = excluded.upto`,
      values: [project, key, upto],
    },
    db.pool,
  );
}

/** Progress of rules that no longer exist. */
export async function forgetProgress(db: Database, project: string, keys: string[]): Promise<void> {
  await db.run(
    {
      name: 'forget_retention_progress',
      text: 'delete from troupe.retention_progress where project_id = $1 and key <> all($2)',
      values: [project, keys],
    },
    db.pool,
  );
}
