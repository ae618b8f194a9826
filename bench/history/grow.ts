import type pg from 'pg';

/** Tables that grow with use, and the columns of each that identify a copied row rather than a definition. */
const COPIED: Record<string, string[]> = {
  threads: ['id', 'active_run_id', 'failed_run_id'],
  sessions: ['id', 'thread_id'],
  spaces: ['id', 'thread_id'],
  memberships: ['space_id'],
  messages: ['thread_id', 'id', 'run_id'],
  runs: [
    ...['id', 'thread_id', 'parent_run_id', 'root_run_id', 'trigger_message_id', 'absorbed_by', 'space_id'],
    ...['active_space_id', 'origin_id', 'task_id'],
  ],
  run_heads: ['run_id', 'thread_id'],
  run_steps: ['run_id'],
  run_prompts: ['run_id', 'space_id'],
  run_shown: ['run_id', 'space_id'],
  tool_calls: ['run_id'],
  event_batches: ['thread_id', 'run_id'],
  tasks: [
    ...['id', 'chat_id', 'sub_agent_id', 'trigger_message_id', 'parent_task_id', 'parent_run_id', 'run_id'],
    'chat_thread_id',
  ],
  sub_agents: ['id', 'chat_id', 'task_id', 'thread_id'],
  folded_messages: ['message_id', 'run_id', 'space_id'],
  network_batches: ['id'],
  network_batch_rows: ['batch_id'],
  network_batch_items: ['batch_id', 'run_id'],
  trigger_deliveries: ['id', 'chat_id'],
  trigger_attempts: ['delivery_id'],
  idempotency_keys: [],
  audit_log: [],
};

/** Columns whose copies need a value of their own although they are no identifiers. */
const VALUES: Record<string, string> = {
  'trigger_deliveries.change_id': 't.change_id + n * 1000000::bigint',
  'trigger_deliveries.document_id': 'md5(t.document_id || n)',
  'idempotency_keys.key': `t.key || '-' || n`,
  // Older ones would be purged before they are measured.
  'idempotency_keys.created_at': 't.created_at',
};

/** A copy of an identifier. It keeps the order in time: copy n is n minutes older than its original. */
const COPY_OF = `create or replace function pg_temp.copy_of(id uuid, n int) returns uuid language sql immutable strict as $$
  select (lpad(to_hex((('x' || left(translate(id::text, '-', ''), 12))::bit(48)::bigint - n::bigint * 60000)), 12, '0')
    || right(md5(id::text || n), 20))::uuid $$`;

/**
 * Copies everything that the template project did, from copy \`from\` up to copy \`to\`. Triggers are off, so that the copies
 * do not become events themselves; each copy gets transaction ids of its own, as real history has.
 */
export async function grow(client: pg.ClientBase, from: number, to: number): Promise<void> {
  await client.query('set session_replication_role = replica');
  await client.query('set synchronous_commit = off');
  await client.query(COPY_OF);
  await keepTemplate(client);
  const first = await spendTransactions(client, to - from);
  for (const table of Object.keys(COPIED)) await copyTable(client, table, { from, to, first });
  await client.query('reset session_replication_role');
  await client.query('reset synchronous_commit');
  await client.query('vacuum (analyze)');
}

/** The rows to copy, as they were before the first copy. */
async function keepTemplate(client: pg.ClientBase): Promise<void> {
  await client.query('create schema if not exists template');
  for (const table of Object.keys(COPIED))
    await client.query(`create table if not exists template.${table} as select * from troupe.${table}`);
  // Copies are history: an open run would be work to do.
  await client.query(`delete from template.runs where status not in ('completed', 'failed', 'canceled')`);
}

/** Advances the transaction counter and returns its value before. */
async function spendTransactions(client: pg.ClientBase, count: number): Promise<number> {
  const { rows } = await client.query('select pg_current_xact_id()::text::bigint as xid');
  await client.query(`do $$ begin
    for n in 1..${count} loop perform pg_current_xact_id(); commit; end loop; end $$`);
  return Number(rows[0].xid);
}

interface Range {
  from: number;
  to: number;
  /** The transaction id of the first copy. */
  first: number;
}

async function copyTable(client: pg.ClientBase, table: string, { from, to, first }: Range): Promise<void> {
  const { rows } = await client.query<{ name: string; type: string; generated: boolean }>(
    `select attname as name, format_type(atttypid, atttypmod) as type, attidentity <> '' or attgenerated <> '' as generated
      from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    [`troupe.${table}`],
  );
  const copied = rows.filter(({ generated }) => !generated);
  const values = copied.map(({ name, type }) => {
    const own = VALUES[`${table}.${name}`];
    if (own) return own;
    if (COPIED[table]!.includes(name)) return `pg_temp.copy_of(t.${name}, n)`;
    if (name === 'xid' || name === 'joined_xid') return `${first - from} + n`;
    if (type === 'timestamp with time zone') return `t.${name} - n * interval '1 minute'`;
    return `t.${name}`;
  });
  const names = copied.map(({ name }) => `"${name}"`);
  await client.query(
    `insert into troupe.${table} (${names}) select ${values}
      from generate_series(${from}, ${to - 1}) n, template.${table} t`,
  );
}

/** How many runs and messages there are. */
export async function sizeOf(client: pg.ClientBase): Promise<{ runs: number; messages: number }> {
  const { rows } = await client.query(
    'select (select count(*) from troupe.runs)::int as runs, (select count(*) from troupe.messages)::int as messages',
  );
  return rows[0];
}
