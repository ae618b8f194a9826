import type pg from 'pg';
import { inTransaction } from '../client-transaction.ts';
import type { Database } from '../database.ts';
import { PROJECT_TABLES } from './exports.ts';

// Rows of an export become rows of this database, with the same ids. A row that is there stays: repeating an import adds the rest.

type Row = Record<string, unknown>;

/**
 * Columns that are written after everything else: because they point at later rows, or because an insert with them would
 * send events again. Until then they have these values.
 */
const LATE: Record<string, { key: string[]; until: Row }> = {
  projects: { key: ['id'], until: { default_model_id: null, compaction_model_id: null } },
  networks: { key: ['id'], until: { status: 'draft', current_version: null, current_version_id: null } },
  tasks: { key: ['id'], until: { chat_thread_id: null } },
  tool_calls: { key: ['run_id', 'call_id'], until: { tool: '-', shown: null } },
};
/** What would act twice, here and where it comes from, is imported so that it does not act. */
const ASLEEP: Record<string, (row: Row) => Row> = {
  plans: (row) => (row['status'] === 'pending' ? { ...row, status: 'canceled', next_run_at: null } : row),
  triggers: (row) => ({ ...row, enabled: false, disabled_reason: 'imported' }),
};
/** Where a deferrable constraint forbids to look for any conflict. */
const KEYS: Record<string, string> = { agent_capabilities: '(id)', agent_tools: '(agent_id, tool_id)' };
const TABLES = new Set(PROJECT_TABLES.map(({ table }) => table));
const SKIPPED = new Set(['audit_log']);

export const isImported = (table: string): boolean => TABLES.has(table) && !SKIPPED.has(table);
export const isLate = (table: string): boolean => table in LATE;

/** `own`: it was made here. `begun`: an import was interrupted. */
export async function findImport(db: Database, project: string): Promise<'own' | 'begun' | 'done' | null> {
  const noted = (action: string) =>
    `exists (select from troupe.audit_log a where a.project_id = p.id and a.action = '${action}')`;
  const { rows } = await db.pool.query<{ state: 'own' | 'begun' | 'done' }>(
    `select case when ${noted('project.imported')} then 'done' when ${noted('project.importing')} then 'begun' else 'own' end as state
      from troupe.projects p where p.id = $1`,
    [project],
  );
  return rows[0]?.state ?? null;
}

/** Inserts the project and notes that its import has begun. False if another project has the name. */
export async function beginImport(db: Database, project: Row): Promise<boolean> {
  return inTransaction(db, async (client) => {
    if (!(await insert(client, 'projects', [{ ...project, ...LATE['projects']!.until }]))) return false;
    await note(client, String(project['id']), 'project.importing', {});
    return true;
  });
}

/** Inserts rows of one table in one transaction. */
export async function importRows(db: Database, table: string, rows: Row[]): Promise<void> {
  const given = rows.map((row) => ({ ...(ASLEEP[table]?.(row) ?? row), ...LATE[table]?.until }));
  await inTransaction(db, (client) => insert(client, table, given));
}

/** Whether any row was inserted. */
async function insert(client: pg.PoolClient, table: string, rows: Row[]): Promise<boolean> {
  const columns = Object.keys(rows[0]!);
  const list = columns.map((column) => `"${column.replaceAll('"', '')}"`).join(', ');
  const { rowCount } = await client.query(
    `insert into troupe.${table} (${list}) overriding system value select ${list} from jsonb_populate_recordset(null::troupe.${table}, $1::jsonb) on conflict ${KEYS[table] ?? ''} do nothing`,
    [JSON.stringify(rows)],
  );
  return rowCount! > 0;
}

/** Writes the columns that come late. */
export async function completeRows(db: Database, table: string, rows: Row[]): Promise<void> {
  const { key, until } = LATE[table]!;
  const columns = Object.keys(until);
  await inTransaction(db, async (client) => {
    await client.query(
      `update troupe.${table} x set ${columns.map((column) => `"${column}" = y."${column}"`).join(', ')}
        from jsonb_populate_recordset(null::troupe.${table}, $1::jsonb) y where ${key.map((column) => `x."${column}" = y."${column}"`).join(' and ')}`,
      [JSON.stringify(rows)],
    );
  });
}

/** Notes the end. Numbers that the database gives go on after the imported ones. */
export async function endImport(db: Database, project: string, rows: number): Promise<void> {
  await inTransaction(db, async (client) => {
    await note(client, project, 'project.imported', { rows });
    await client.query(
      `select setval(pg_get_serial_sequence('troupe.findings', 'seq'), greatest(nextval(pg_get_serial_sequence('troupe.findings', 'seq')),
        (select coalesce(max(f.seq), 1) from troupe.findings f)))`,
    );
  });
}

async function note(client: pg.PoolClient, project: string, action: string, data: Row): Promise<void> {
  await client.query(
    `insert into troupe.audit_log (project_id, actor_kind, action, target, data) values ($1::uuid, 'system', $2, $1::uuid::text, $3)`,
    [project, action, JSON.stringify(data)],
  );
}
