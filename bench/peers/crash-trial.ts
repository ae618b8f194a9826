/** W3 as seen from outside: the batch without a kill, the kill, the recovery, and what the ledger says. */
import pg from 'pg';
import type { BenchPostgres } from './postgres.ts';
import type { CrashTrial, Failure } from './results.ts';
import type { Job } from './worker.ts';
import { type Ended, runWorker } from './worker-process.ts';

const RUNS = 100;
/** Drawn once, so that every system dies at the same point of its work. */
const KILL_AFTER_TOOLS = [185, 310, 105, 250, 375];
const MAX_BATCH_MS = 120_000;
const MAX_RECOVERY_MS = 240_000;

export async function runCrashTrial(
  postgres: BenchPostgres,
  trial: number,
  withJob: <Result>(work: (job: Job) => Promise<Result>) => Promise<Result>,
): Promise<CrashTrial | Failure> {
  let uninterruptedMs: number | null = null;
  if (trial === 0) {
    const measured = await withJob((job) => runUninterrupted(postgres, job));
    if (typeof measured !== 'number') return measured;
    uninterruptedMs = measured;
  }
  const killAfterTools = KILL_AFTER_TOOLS[trial % KILL_AFTER_TOOLS.length]!;
  return withJob(async (job) => {
    const crash = { ledgerUrl: await createLedger(postgres), runIds: runIds(`k${trial}`) };
    const first = await runWorker({ ...job, crash: { ...crash, killAfterTools } }, MAX_BATCH_MS);
    const killedAt = performance.now();
    if (first.result) return { error: 'The batch ended before the kill.' };
    if (!reportOf(first, 'started')) return { error: `first worker: ${first.errors}` };
    const second = await runWorker({ ...job, workload: 'W3 recovery', crash }, MAX_RECOVERY_MS);
    const ready = reportOf(second, 'ready');
    const automatic = reportOf(second, 'automatic');
    if (!ready || !automatic || !second.result) return { error: `second worker: ${second.errors}` };
    const unfinished = automatic.unfinished as number;
    return {
      uninterruptedMs,
      killAfterTools,
      newWorkerReadyMs: ready.at - killedAt,
      finishedBeforeKill: second.result.finishedBefore as number,
      allFinishedMs: unfinished === 0 ? automatic.at - killedAt : null,
      unfinished,
      allFinishedManuallyMs: second.result.unfinishedAfterManual === 0 ? second.result.at - killedAt : null,
      ...(await readLedger(crash.ledgerUrl)),
    };
  });
}

async function runUninterrupted(postgres: BenchPostgres, job: Job): Promise<number | Failure> {
  const crash = { ledgerUrl: await createLedger(postgres), runIds: runIds('u') };
  const ended = await runWorker({ ...job, crash }, MAX_BATCH_MS);
  const started = reportOf(ended, 'started');
  if (!started || !ended.result) return { error: `batch without a kill: ${ended.errors}` };
  return ended.result.at - started.at;
}

function reportOf({ reports }: Ended, type: string) {
  return reports.find((report) => report.type === type);
}

function runIds(prefix: string): string[] {
  return Array.from({ length: RUNS }, (_, index) => `${prefix}-${index}`);
}

async function createLedger(postgres: BenchPostgres): Promise<string> {
  const url = await postgres.createDatabase('bench_ledger');
  await withClient(url, (client) =>
    client.query(`
      create table executions (id bigserial primary key, run text, step int, kind text, first_worker boolean);
      create index on executions (run, step);
      create table done (run text, step int, first_worker boolean, primary key (run, step));`),
  );
  return url;
}

async function readLedger(
  url: string,
): Promise<Pick<CrashTrial, 'toolsRecorded' | 'toolsRepeated' | 'toolsRepeatedAfterNextStep'>> {
  const { rows } = await withClient(url, (client) =>
    client.query<{ recorded: number; repeated: number; moved_on: number }>(`
      with repeated as (
        select run, step from executions join done using (run, step)
        where kind = 'tool' and not executions.first_worker and done.first_worker
      )
      select (select count(*)::int from done where first_worker) as recorded,
             (select count(*)::int from repeated) as repeated,
             (select count(*)::int from repeated where exists (
                select from executions later where later.first_worker and later.kind = 'model'
                  and later.run = repeated.run and later.step > repeated.step)) as moved_on`),
  );
  const { recorded, repeated, moved_on } = rows[0]!;
  return { toolsRecorded: recorded, toolsRepeated: repeated, toolsRepeatedAfterNextStep: moved_on };
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
