import { BATCH_LIMITS, type JsonObject, type NewBatch } from '@troupe/protocol';
import { Refusal } from '../../../base/index.ts';
import * as store from '../../../store/index.ts';
import { networkToRun, type Parts, refuseArchived } from '../invoke.ts';
import { sealed } from '../start-item.ts';
import { problemOfRow, refuseUnknown, systemNamesOf } from '../system-params.ts';
import { type GivenRow, rowsOf } from './rows.ts';
import { batchSealedName, sealRows } from './sealed-rows.ts';

/** Of a file without a single good row, so many problems are told. */
const TOLD = 50;

/** All its rows, its items and the job that begins with them, or none of it. Bound to the version that there is now. */
export async function createBatch(
  { db, sealer }: Omit<Parts, 'kernel'>,
  project: string,
  ref: string,
  {
    id,
    rows,
    format,
    data,
    iterations,
    concurrency,
    version,
    agent,
    systemParams,
    name,
    metadata,
  }: NewBatch & { id: string },
): Promise<store.BatchRecord> {
  const found = await networkToRun(db, project, ref, { version, agent });
  refuseArchived(found);
  const names = await systemNamesOf(db, found);
  refuseUnknown(names, systemParams);
  const read: GivenRow[] = rows
    ? rows.map((row, at) => ({ row, where: `Row ${at + 1}` }))
    : await rowsOf(format!, data!);
  const given = read.map((one): GivenRow => {
    const problem = 'row' in one ? problemOfRow(names, one.row.systemParams) : null;
    return 'row' in one && problem !== null ? { problem: `${one.where}: ${problem}` } : one;
  });
  checkRows(given, iterations);
  const batch: store.NewBatchRecord = {
    id,
    project,
    networkId: found.id,
    networkName: found.name,
    networkVersion: found.version,
    snapshotId: found.snapshotId,
    agent: found.agent,
    wallMs: found.wallMs,
    name,
    iterations,
    concurrency,
    sealed: sealed(sealer, project, batchSealedName(id), systemParams),
    metadata,
  };
  const own = new Map<number, JsonObject>();
  const kept = given.map((one, at): store.NewBatchRow => {
    const row = at + 1;
    if ('problem' in one) {
      const error = { code: 'bad_row', message: one.problem };
      return { row, input: null, metadata: {}, error };
    }
    const { input, systemParams: given, metadata: about } = one.row;
    if (Object.keys(given).length > 0) own.set(row, given);
    return { row, input, metadata: about, error: null };
  });
  const sealedRows = sealRows(sealer, project, id, own);
  return store.inTransaction(db, async (transaction) => {
    await store.insertBatch(transaction, batch, kept, sealedRows);
    await store.armBatch(transaction, id);
    return (await store.readBatch(transaction, project, id))!;
  });
}

function checkRows(given: readonly GivenRow[], iterations: number): void {
  const items = given.length * iterations;
  if (items > BATCH_LIMITS.items) {
    throw new Refusal(
      'invalid',
      'batch_too_large',
      `${given.length} rows times ${iterations} are ${items} runs; one batch has ${BATCH_LIMITS.items} at most.`,
      { hint: 'Make several batches of it.' },
    );
  }
  if (given.some((one) => 'row' in one)) return;
  const issues = given
    .slice(0, TOLD)
    .map((one, at) => ({ path: `data.${at + 1}`, message: 'problem' in one ? one.problem : '' }));
  throw new Refusal(
    'invalid',
    'no_good_rows',
    given.length === 0 ? 'The file has no rows.' : `None of the ${given.length} rows can be run.`,
    { hint: 'Nothing was stored. Mend the file, and send it again.', issues },
  );
}
