import type pg from 'pg';
import type { Database } from '../database.ts';

// Rows of a project, a session or a person as JSON, read in one transaction that sees one moment of the database.

export interface ExportTable {
  table: string;
  /** After `from`: `x` is the row. $1 is the project, the session or the person. */
  from: string;
  order: string;
  /** What is shown of a row, where it is not everything. */
  row?: string;
  /** Rows that are read at once; few where rows can be large. */
  page?: number;
}

const LIVE = `('queued', 'running', 'waiting_tool', 'waiting_reply')`;
const ENDED = `('completed', 'failed', 'canceled')`;
const of = (table: string, order = 'x.id'): ExportTable => ({
  table,
  from: `troupe.${table} x where x.project_id = $1`,
  order,
});
// Threads of runs that have not ended are left out with them.
const THREAD = `t.project_id = $1 and (t.kind in ('session', 'space') or not exists (select from troupe.runs r where r.thread_id = t.id and r.status in ${LIVE}))
  and not exists (select from troupe.deleted_threads d where d.thread_id = t.id)`;
const inThread = (table: string, order: string, page?: number): ExportTable => ({
  table,
  from: `troupe.threads t join troupe.${table} x on x.thread_id = t.id where ${THREAD}`,
  order,
  ...(page ? { page } : {}),
});
const ofRun = (table: string, order: string): ExportTable => ({
  table,
  from: `troupe.runs r join troupe.${table} x on x.run_id = r.id where r.project_id = $1 and r.status in ${ENDED}`,
  order,
});
const ofNetwork = (table: string, order: string): ExportTable => ({
  table,
  from: `troupe.networks n join troupe.${table} x on x.network_id = n.id where n.project_id = $1`,
  order,
});
const without = (row: ExportTable, columns: string[], instead = '{}'): ExportTable => ({
  ...row,
  row: `to_jsonb(x) - '{${columns.join()}}'::text[] || '${instead}'`,
});
const TASK = `troupe.tasks k where k.project_id = $1 and k.status in ('success', 'failed', 'canceled')`;
const BATCH = `b.project_id = $1 and not exists (select from troupe.network_batch_items i where i.batch_id = b.id and i.status in ('pending', 'queued', 'running'))`;
const ofBatch = (table: string, order: string): ExportTable => ({
  table,
  from: `troupe.network_batches b join troupe.${table} x on x.batch_id = b.id where ${BATCH}`,
  order,
});

/** In the order in which they can be inserted. Stamps are the server's own. Keys, secrets and sealed parameters are left out. */
export const PROJECT_TABLES: ExportTable[] = [
  { table: 'projects', from: 'troupe.projects x where x.id = $1', order: 'x.id' },
  without(of('llm_providers'), [], '{"key_envelope": null}'),
  of('llm_models'),
  of('mcp_servers'),
  of('agents'),
  of('entities'),
  without(of('tools'), ['mcp_server_id']),
  {
    table: 'agent_capabilities',
    from: 'troupe.agents a join troupe.agent_capabilities x on x.agent_id = a.id where a.project_id = $1',
    order: 'x.id',
  },
  {
    table: 'agent_tools',
    from: 'troupe.agents a join troupe.agent_tools x on x.agent_id = a.id where a.project_id = $1',
    order: 'x.agent_id, x.tool_id',
  },
  of('compiled_snapshots'),
  {
    table: 'agent_versions',
    from: 'troupe.agents a join troupe.agent_versions x on x.agent_id = a.id where a.project_id = $1',
    order: 'x.agent_id, x.version',
  },
  of('networks'),
  ofNetwork('network_tools', 'x.network_id, x.tool_id'),
  ofNetwork('network_agents', 'x.id'),
  ofNetwork('network_agent_tools', 'x.network_agent_id, x.tool_id'),
  ofNetwork('network_routes', 'x.from_id, x.to_id'),
  ofNetwork('network_versions', 'x.network_id, x.version'),
  {
    table: 'threads',
    from: `troupe.threads t join troupe.threads x on x.id = t.id where ${THREAD}`,
    order: 'x.id',
    row: `to_jsonb(x) || '{"active_run_id": null}'`,
  },
  without(of('sessions'), ['xid']),
  without(of('spaces'), ['xid']),
  without(
    {
      table: 'memberships',
      from: 'troupe.spaces s join troupe.memberships x on x.space_id = s.id where s.project_id = $1',
      order: 'x.space_id, x.entity_id',
    },
    ['xid', 'joined_xid'],
  ),
  without(inThread('messages', 'x.thread_id, x.seq', 50), ['xid']),
  inThread('event_batches', 'x.thread_id, x.last_seq'),
  inThread('files', 'x.thread_id, x.path', 10),
  inThread('file_totals', 'x.thread_id'),
  inThread('todo_lists', 'x.thread_id'),
  without(
    { ...of('runs'), from: `troupe.runs x where x.project_id = $1 and x.status in ${ENDED}` },
    ['xid'],
    '{"sealed": null}',
  ),
  ofRun('run_heads', 'x.run_id'),
  ofRun('run_steps', 'x.run_id, x.step'),
  without(ofRun('tool_calls', 'x.run_id, x.call_id'), ['xid']),
  ofRun('run_prompts', 'x.run_id, x.step'),
  ofRun('run_shown', 'x.run_id, x.space_id'),
  ofRun('folded_messages', 'x.entity_id, x.message_id'),
  inThread('findings', 'x.thread_id, x.seq'),
  without(
    { table: 'tasks', from: `troupe.tasks x where x.id in (select k.id from ${TASK})`, order: 'x.id' },
    ['xid'],
  ),
  without(
    {
      table: 'sub_agents',
      from: `troupe.sub_agents x where x.task_id in (select k.id from ${TASK})`,
      order: 'x.id',
    },
    ['xid'],
  ),
  of('memories', 'x.entity_id, x.owner_id, x.key'),
  of('goals'),
  of('plans'),
  without(of('budgets'), ['xid'], '{"leased": 0}'),
  of('clients'),
  without(
    {
      table: 'network_batches',
      from: `troupe.network_batches b join troupe.network_batches x on x.id = b.id where ${BATCH}`,
      order: 'x.id',
    },
    [],
    '{"sealed": null}',
  ),
  ofBatch('network_batch_rows', 'x.batch_id, x.row_number'),
  ofBatch('network_batch_items', 'x.batch_id, x.row_number, x.iteration'),
  of('usage_sums', 'x.every, x.at'),
  of('usage_purged', 'x.at, x.agent_id, x.network_id, x.model'),
  of('retention_rules', 'x.agent_id nulls first'),
  of('triggers'),
  {
    table: 'trigger_versions',
    from: 'troupe.triggers t join troupe.trigger_versions x on x.trigger_id = t.id where t.project_id = $1',
    order: 'x.trigger_id, x.version',
  },
  of('audit_log'),
];

// What a person may see of a run, a call or a message: no prompts, and nothing that the server keeps for itself.
const MESSAGE = `jsonb_build_object('id', x.id, 'threadId', x.thread_id, 'sequence', x.seq, 'role', x.role, 'content', x.content, 'toolCallId', x.tool_call_id,
  'runId', x.run_id, 'step', x.step, 'createdAt', x.created_at)`;
const RUN = `jsonb_build_object('id', x.id, 'agentId', x.agent_id, 'threadId', x.thread_id, 'status', x.status, 'outcome', x.outcome, 'error', x.error, 'step', x.step,
  'inputTokens', x.input_tokens, 'outputTokens', x.output_tokens, 'createdAt', x.created_at, 'completedAt', x.completed_at, 'canceledAt', x.canceled_at)`;
const SESSION = `to_jsonb(x) - '{xid,project_id}'::text[]`;

function ofThreads(threads: string): ExportTable[] {
  const each = (table: string, order: string, row?: string, page?: number): ExportTable => ({
    table,
    from: `troupe.${table} x where x.thread_id in (${threads})`,
    order,
    ...(row ? { row } : {}),
    ...(page ? { page } : {}),
  });
  return [
    each('messages', 'x.thread_id, x.seq', MESSAGE, 50),
    each('runs', 'x.id', RUN),
    each('event_batches', 'x.thread_id, x.last_seq'),
    each('files', 'x.thread_id, x.path', undefined, 10),
    each('todo_lists', 'x.thread_id'),
    each('findings', 'x.thread_id, x.seq'),
  ];
}
const TASKS = (chats: string): ExportTable => ({
  table: 'tasks',
  from: `troupe.tasks x where x.chat_id in (${chats})`,
  order: 'x.id',
  row: `to_jsonb(x) - '{xid,project_id}'::text[]`,
});

export const SESSION_TABLES: ExportTable[] = [
  { table: 'sessions', from: 'troupe.sessions x where x.id = $1', order: 'x.id', row: SESSION },
  ...ofThreads('select s.thread_id from troupe.sessions s where s.id = $1'),
  TASKS('select s.id from troupe.sessions s where s.id = $1'),
];

export const PERSON_TABLES: ExportTable[] = [
  {
    table: 'entities',
    from: 'troupe.entities x where x.id = $1',
    order: 'x.id',
    row: `to_jsonb(x) - 'project_id'`,
  },
  {
    table: 'clients',
    from: 'troupe.clients x where x.entity_id = $1',
    order: 'x.id',
    row: `to_jsonb(x) - 'project_id'`,
  },
  {
    table: 'memberships',
    from: 'troupe.memberships x where x.entity_id = $1',
    order: 'x.space_id',
    row: `to_jsonb(x) - '{xid,joined_xid}'::text[]`,
  },
  { table: 'sessions', from: 'troupe.sessions x where x.entity_id = $1', order: 'x.id', row: SESSION },
  ...ofThreads('select s.thread_id from troupe.sessions s where s.entity_id = $1'),
  TASKS('select s.id from troupe.sessions s where s.entity_id = $1'),
  {
    table: 'space_messages',
    from: `troupe.entities e join troupe.spaces s on s.project_id = e.project_id join troupe.messages x on x.thread_id = s.id and x.sender_id = e.id where e.id = $1`,
    order: 'x.thread_id, x.seq',
    row: MESSAGE,
    page: 50,
  },
  {
    table: 'memories',
    from: 'troupe.memories x where x.owner_id = $1',
    order: 'x.entity_id, x.key',
    row: `to_jsonb(x) - 'project_id'`,
  },
  {
    table: 'goals',
    from: 'troupe.goals x where x.owner_id = $1',
    order: 'x.id',
    row: `to_jsonb(x) - 'project_id'`,
  },
];

const PAGE = 200;

/** The rows of the tables, a page at a time. Whoever stops early must return the generator, which ends the transaction. */
export async function* exportRows(
  db: Database,
  tables: readonly ExportTable[],
  of: string,
): AsyncGenerator<{ table: string; row: unknown }[]> {
  const client: pg.PoolClient = await db.pool.connect();
  let broken = true;
  try {
    await client.query(`begin isolation level repeatable read read only; set local time zone 'UTC'`);
    for (const { table, from, order, row = 'to_jsonb(x)', page = PAGE } of tables) {
      // One row after the other by a cursor: memory does not grow with the table.
      await client.query({
        text: `declare exported no scroll cursor for select ${row} as row from ${from.replaceAll('$1', `'${uuid(of)}'::uuid`)} order by ${order}`,
      });
      for (;;) {
        const { rows } = await client.query<{ row: unknown }>(`fetch ${page} from exported`);
        if (rows.length > 0) yield rows.map((one) => ({ table, row: one.row }));
        if (rows.length < page) break;
      }
      await client.query('close exported');
    }
    await client.query('commit');
    broken = false;
  } finally {
    if (broken)
      await client.query('rollback').then(
        () => (broken = false),
        () => {},
      );
    client.release(broken);
  }
}

/** A cursor takes no parameters. */
function uuid(text: string): string {
  if (!/^[0-9a-f-]{36}$/i.test(text)) throw new Error(`${text} is no id`);
  return text;
}

/** The newest migration: an older server cannot import what it does not know. */
export async function schemaVersion(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ id: number }>('select max(id) as id from troupe.migrations');
  return rows[0]!.id;
}

/** What an export of the project leaves out. */
export async function leftOut(
  db: Database,
  project: string,
): Promise<{ liveRuns: number; secrets: string[] }> {
  const { rows } = await db.pool.query<{ liveRuns: number; secrets: string[] }>(
    `select (select count(*)::int from troupe.runs r where r.project_id = $1 and r.status in ${LIVE}) as "liveRuns",
      array(select s.name from troupe.secrets s where s.project_id = $1 order by s.name) as secrets`,
    [project],
  );
  return rows[0]!;
}
