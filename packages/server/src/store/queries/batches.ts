import type { BatchItemStatus, BatchStatus, Json, JsonObject, RunError } from '@troupe/protocol';
import { once } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { Transaction } from '../transaction.ts';
import { addJob } from './jobs.ts';
import type { NewRun, Started, StartItem } from './start.ts';

// A network over many inputs. How a batch is doing is counted from its items, which follow their runs by a trigger (functions/networks/tell_batch.sql).

export interface BatchOf {
  networkId: string;
  networkName: string;
  networkVersion: number;
  snapshotId: string;
  agent: string;
  wallMs: number;
}

export interface NewBatchRecord extends BatchOf {
  id: string;
  project: string;
  name: string | null;
  iterations: number;
  concurrency: number;
  sealed: JsonObject | null;
  metadata: JsonObject;
}

export interface NewBatchRow {
  row: number;
  /** Null where it cannot be run. */
  input: Json;
  metadata: JsonObject;
  error: RunError | null;
}

/** What the system gives to the tools of some rows, encrypted together. */
export interface NewSealedRows {
  group: number;
  sealed: JsonObject;
}

/** Rows of one statement: the text of each is held twice while it is sent. */
const ROWS_AT_ONCE = 5_000;

export async function insertBatch(
  transaction: Transaction,
  batch: NewBatchRecord,
  rows: readonly NewBatchRow[],
  sealed: readonly NewSealedRows[],
): Promise<void> {
  await sql`insert into troupe.network_batches (id, project_id, network_id, network_name, network_version, snapshot_id, agent, wall_ms, name,
      iterations, concurrency, sealed, metadata)
    values (${batch.id}, ${batch.project}, ${batch.networkId}, ${batch.networkName}, ${batch.networkVersion}, ${batch.snapshotId}, ${batch.agent},
      ${batch.wallMs}, ${batch.name}, ${batch.iterations}, ${batch.concurrency}, ${jsonOrNull(batch.sealed)}::jsonb, ${toJsonText(batch.metadata)}::jsonb)`.execute(
    transaction,
  );
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const some = toJsonText(rows.slice(at, at + ROWS_AT_ONCE));
    await sql`insert into troupe.network_batch_rows (batch_id, row_number, input, metadata, error)
      select ${batch.id}, (r->>'row')::int, nullif(r->'input', 'null'), r->'metadata', nullif(r->'error', 'null')
      from jsonb_array_elements(${some}::jsonb) r`.execute(transaction);
  }
  await sql`insert into troupe.network_batch_sealed (batch_id, row_group, sealed)
    select ${batch.id}, (s->>'group')::int, s->'sealed' from jsonb_array_elements(${toJsonText(sealed)}::jsonb) s`.execute(
    transaction,
  );
  await sql`insert into troupe.network_batch_items (batch_id, row_number, iteration, status)
    select r.batch_id, r.row_number, i, case when r.error is null then 'pending' else 'bad' end
    from troupe.network_batch_rows r, generate_series(1, case when r.error is null then ${batch.iterations}::int else 1 end) i
    where r.batch_id = ${batch.id} order by r.row_number, i`.execute(transaction);
}

const jsonOrNull = (value: JsonObject | null) => (value === null ? null : toJsonText(value));

// ---- as it is shown

export interface BatchRecord {
  id: string;
  network: { id: string; name: string; version: number };
  agent: string;
  name: string | null;
  status: BatchStatus;
  iterations: number;
  concurrency: number;
  rows: number;
  bad: number;
  total: number;
  queued: number;
  running: number;
  completed: number;
  failed: number;
  canceled: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  metadata: JsonObject;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  canceledAt: Date | null;
}

// One look at all items of a batch: 100,000 of them take about 50 ms.
const SHOWN = once(
  () => sql`b.id, jsonb_build_object('id', b.network_id, 'name', b.network_name, 'version', b.network_version) as network, b.agent, b.name,
    b.iterations, b.concurrency, b.metadata, b.created_at as "createdAt", b.canceled_at as "canceledAt",
    case when b.canceled_at is not null then 'canceled' when c.queued + c.running > 0 then 'running' else 'completed' end as status,
    c.bad + c.total / b.iterations as rows, c.bad, c.total, c.queued, c.running, c.completed, c.failed, c.canceled,
    c.input_tokens::float8 as "inputTokens", c.output_tokens::float8 as "outputTokens", c.cost::float8 as cost, c.started_at as "startedAt",
    case when c.queued + c.running = 0 then c.ended_at end as "completedAt"`,
);
const COUNTED = once(
  () => sql`cross join lateral (select count(*) filter (where i.status = 'bad')::int as bad, count(*) filter (where i.status <> 'bad')::int as total,
      count(*) filter (where i.status in ('pending', 'queued'))::int as queued, count(*) filter (where i.status = 'running')::int as running,
      count(*) filter (where i.status = 'completed')::int as completed, count(*) filter (where i.status = 'failed')::int as failed,
      count(*) filter (where i.status = 'canceled')::int as canceled,
      coalesce(sum(i.input_tokens), 0) as input_tokens, coalesce(sum(i.output_tokens), 0) as output_tokens, coalesce(sum(i.cost), 0) as cost,
      min(i.started_at) as started_at, max(i.ended_at) as ended_at
    from troupe.network_batch_items i where i.batch_id = b.id) c`,
);

export async function readBatch(on: Rows, project: string, id: string): Promise<BatchRecord | null> {
  const { rows } = await sql<BatchRecord>`select ${SHOWN()} from troupe.network_batches b ${COUNTED()}
    where b.project_id = ${project} and b.id = ${id}`.execute(on);
  return rows[0] ?? null;
}

export async function hasBatch(on: Rows, project: string, id: string): Promise<boolean> {
  const { rows } =
    await sql`select from troupe.network_batches where project_id = ${project} and id = ${id}`.execute(on);
  return rows.length === 1;
}

/** The newest first. */
export async function listBatches(
  on: Rows,
  project: string,
  network: string,
  { before, limit }: { before?: string | undefined; limit: number },
): Promise<BatchRecord[]> {
  const { rows } = await sql<BatchRecord>`select ${SHOWN()} from (select * from troupe.network_batches
      where project_id = ${project} and network_id = ${network} and (${before ?? null}::uuid is null or id < ${before ?? null}::uuid)
      order by id desc limit ${limit}) b ${COUNTED()} order by b.id desc`.execute(on);
  return rows;
}

export interface BatchItemRecord {
  row: number;
  iteration: number;
  attempt: number;
  status: BatchItemStatus;
  input: Json;
  metadata: JsonObject;
  response: Json;
  error: RunError | null;
  runId: string | null;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  startedAt: Date | null;
  endedAt: Date | null;
}

/** By row and iteration, after those of `after`. */
export async function listBatchItems(
  on: Rows,
  batch: string,
  {
    status,
    after = { row: 0, iteration: 0 },
    limit,
  }: {
    status?: BatchItemStatus | undefined;
    after?: { row: number; iteration: number } | undefined;
    limit: number;
  },
): Promise<BatchItemRecord[]> {
  const wanted = status === undefined ? null : status === 'queued' ? ['pending', 'queued'] : [status];
  const { rows } =
    await sql<BatchItemRecord>`select i.row_number as row, i.iteration, i.attempt, case i.status when 'pending' then 'queued' else i.status end as status,
      r.input, r.metadata, x.outcome->'response' as response, coalesce(r.error, x.error) as error, i.run_id as "runId",
      i.input_tokens as "inputTokens", i.output_tokens as "outputTokens", i.cost, i.started_at as "startedAt", i.ended_at as "endedAt"
    from (select * from troupe.network_batch_items
        where batch_id = ${batch} and (row_number, iteration) > (${after.row}::int, ${after.iteration}::int)
          and (${wanted}::text[] is null or status = any(${wanted}::text[]))
        order by row_number, iteration limit ${limit}) i
      join troupe.network_batch_rows r on r.batch_id = i.batch_id and r.row_number = i.row_number
      left join troupe.runs x on x.id = i.run_id
    order by i.row_number, i.iteration`.execute(on);
  return rows;
}

// ---- beginning its runs

/** At most one waits: whoever adds another one puts it in its place. */
export async function armBatch(on: Transaction | Database, id: string, afterMs = 0): Promise<void> {
  const runAt = afterMs > 0 ? { runAt: new Date(Date.now() + afterMs) } : {};
  await addJob(on, 'advance_batch', { batchId: id }, { key: `batch:${id}`, ...runAt });
}

export interface BatchToAdvance extends NewBatchRecord {
  canceled: boolean;
  /** Items whose run has not ended, and items that have no run yet. */
  open: number;
  pending: number;
}

/** Nobody else begins, cancels or resumes it until the transaction ends. */
export async function lockBatch(
  transaction: Transaction,
  id: string,
  project: string | null = null,
): Promise<BatchToAdvance | null> {
  const { rows } = await sql<
    Omit<BatchToAdvance, 'open' | 'pending'>
  >`select id, project_id as project, network_id as "networkId",
      network_name as "networkName", network_version as "networkVersion", snapshot_id as "snapshotId", agent, wall_ms as "wallMs", name, iterations,
      concurrency, sealed, metadata, canceled_at is not null as canceled
    from troupe.network_batches where id = ${id} and (${project}::uuid is null or project_id = ${project}::uuid) for no key update`.execute(
    transaction,
  );
  if (!rows[0]) return null;
  // In a statement of its own: it sees what the one before us wrote.
  const { rows: counts } = await sql<{
    open: number;
    pending: number;
  }>`select count(*) filter (where status <> 'pending')::int as open, count(*) filter (where status = 'pending')::int as pending
    from troupe.network_batch_items where batch_id = ${id} and status in ('pending', 'queued', 'running')`.execute(
    transaction,
  );
  return { ...rows[0], ...counts[0]! };
}

export interface PendingItem {
  row: number;
  iteration: number;
  attempt: number;
  input: string | JsonObject;
  metadata: JsonObject;
}

export async function pendingBatchItems(
  transaction: Transaction,
  batch: string,
  limit: number,
): Promise<PendingItem[]> {
  const { rows } =
    await sql<PendingItem>`select i.row_number as row, i.iteration, i.attempt, r.input, r.metadata
    from (select * from troupe.network_batch_items where batch_id = ${batch} and status = 'pending' and status in ('pending', 'queued', 'running')
        order by row_number, iteration limit ${limit}) i
      join troupe.network_batch_rows r on r.batch_id = i.batch_id and r.row_number = i.row_number
    order by i.row_number, i.iteration`.execute(transaction);
  return rows;
}

export async function sealedOfBatch(
  transaction: Transaction,
  batch: string,
  groups: readonly number[],
): Promise<NewSealedRows[]> {
  const { rows } =
    await sql<NewSealedRows>`select row_group as "group", sealed from troupe.network_batch_sealed
    where batch_id = ${batch} and row_group = any(${groups}::int[])`.execute(transaction);
  return rows;
}

export interface BatchStart {
  row: number;
  iteration: number;
  item: StartItem & { run: NewRun };
}

/** The runs and what their items know of them are there together. The batch must be locked. */
export async function beginBatchItems(
  transaction: Transaction,
  batch: string,
  starts: readonly BatchStart[],
): Promise<void> {
  const items = toJsonText(starts.map(({ item }) => item));
  const { rows } = await sql<{
    verdicts: Started[];
  }>`select troupe.start(${items}::jsonb) as verdicts`.execute(transaction);
  const refused = rows[0]!.verdicts.find((verdict) => !verdict.ok);
  if (refused && !refused.ok) throw new Error(`a run of a batch was not started: ${refused.code}`);
  const runs = toJsonText(starts.map(({ row, iteration, item }) => ({ row, iteration, run: item.run.id })));
  await sql`update troupe.network_batch_items i set status = 'queued', run_id = x.run
    from jsonb_to_recordset(${runs}::jsonb) x(row int, iteration int, run uuid)
    where i.batch_id = ${batch} and i.row_number = x.row and i.iteration = x.iteration and i.status = 'pending'`.execute(
    transaction,
  );
  // All are queued at the same time, and are taken by it: the first row shall be the first.
  await sql`update troupe.runs r set run_at = r.run_at - (${starts.length}::int - x.place) * interval '1 microsecond'
    from unnest(${starts.map(({ item }) => item.run.id)}::uuid[]) with ordinality x(run, place) where r.id = x.run`.execute(
    transaction,
  );
}

/** Gives batches that have something to begin, or to cancel, and no job a new one. */
export async function rearmBatches(db: Database): Promise<number> {
  const { rows } = await sql<{ id: string }>`select b.id from troupe.network_batches b
    where exists (select from troupe.network_batch_items i where i.batch_id = b.id and i.status in ('pending', 'queued', 'running')
        and (i.canceling or i.status = 'pending'))
      and not exists (select from graphile_worker.jobs j where j.key = 'batch:' || b.id and j.attempts < j.max_attempts)
    order by b.id limit 1000`.execute(db.rows);
  for (const { id } of rows) await armBatch(db, id);
  // Left by processes that died after the next job was added.
  await sql`select graphile_worker.complete_jobs(array(select j.id from graphile_worker.jobs j
    where j.task_identifier = 'advance_batch' and j.key is null and j.locked_at is null and j.attempts >= j.max_attempts))`.execute(
    db.rows,
  );
  return rows.length;
}

// ---- canceling, resuming, deleting; the batch must be locked

/**
 * Runs before items, as those who end several runs in one commit have them: these tell the items in an order of their own, and
 * without this would wait for one of ours while we wait for one of theirs.
 */
async function lockOpenRuns(transaction: Transaction, batch: string): Promise<void> {
  await sql`select from troupe.runs r where r.id in (select i.run_id from troupe.network_batch_items i
      where i.batch_id = ${batch} and i.status in ('pending', 'queued', 'running') and i.run_id is not null)
    order by r.id for no key update`.execute(transaction);
}

export async function cancelBatch(transaction: Transaction, batch: string): Promise<void> {
  await lockOpenRuns(transaction, batch);
  await sql`update troupe.network_batches set canceled_at = coalesce(canceled_at, now()) where id = ${batch}`.execute(
    transaction,
  );
  await sql`update troupe.network_batch_items set status = case status when 'pending' then 'canceled' else status end,
      ended_at = case status when 'pending' then now() end, canceling = status <> 'pending'
    where batch_id = ${batch} and status in ('pending', 'queued', 'running')`.execute(transaction);
}

/**
 * Runs of it that are to be canceled, those that wait first: the place of one that is canceled must not go to the next. One that somebody takes
 * up again after that is none of them.
 */
export async function runsToCancel(on: Rows, batch: string): Promise<string[]> {
  const { rows } = await sql<{ run: string }>`select run_id as run from troupe.network_batch_items
    where batch_id = ${batch} and status in ('pending', 'queued', 'running') and canceling
    order by status = 'running', row_number desc, iteration desc`.execute(on);
  return rows.map(({ run }) => run);
}

/** Whether that is still so: who resumed the batch meanwhile wants those that are at work to go on. */
export async function isCanceling(on: Rows, run: string): Promise<boolean> {
  const { rows } =
    await sql`select from troupe.network_batch_items where run_id = ${run} and canceling`.execute(on);
  return rows.length === 1;
}

/** Answers how many begin again. */
export async function resumeBatch(
  transaction: Transaction,
  batch: string,
  { failed }: { failed: boolean },
): Promise<number> {
  await lockOpenRuns(transaction, batch);
  await sql`update troupe.network_batches set canceled_at = null where id = ${batch}`.execute(transaction);
  // Those that are still at work go on.
  await sql`update troupe.network_batch_items set canceling = false
    where batch_id = ${batch} and status in ('pending', 'queued', 'running') and canceling`.execute(
    transaction,
  );
  const statuses = failed ? ['canceled', 'failed'] : ['canceled'];
  const { rows } = await sql<{ n: number }>`with again as (
      update troupe.network_batch_items set status = 'pending', attempt = attempt + (run_id is not null)::int, run_id = null,
        input_tokens = 0, output_tokens = 0, cost = 0, ended_at = null
      where batch_id = ${batch} and status = any(${statuses}::text[]) returning 1)
    select count(*)::int as n from again`.execute(transaction);
  return rows[0]!.n;
}

export async function deleteBatch(transaction: Transaction, batch: string): Promise<void> {
  await sql`delete from troupe.network_batches where id = ${batch}`.execute(transaction);
}
