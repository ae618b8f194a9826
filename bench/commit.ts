// npm run bench:commit
// What one commit costs, in Postgres and in Node, by the size of the batch: a run that asks for a tool and gets its result,
// over and over. CPU time rather than wall time, because it depends less on what else the machine does.
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, migrate, newId, silentLogger, startEmbedded } from '@troupe/server';
import { buildProject, buildSnapshot, buildStart } from '@troupe/testing';
import { type ClaimedRun, claim } from '../packages/server/src/store/queries/claim.ts';
import { type CommitItem, type Committed, commit } from '../packages/server/src/store/queries/commit.ts';
import { start } from '../packages/server/src/store/queries/start.ts';

const BATCHES = [1, 8, 32];
const TEXT = 'x'.repeat(200);

const home = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const postgres = await startEmbedded({ home, logger: silentLogger });
await migrate(postgres.url);
const db = new Database({
  url: postgres.url,
  applicationName: 'bench',
  kernelPoolSize: 1,
  logger: silentLogger,
});
const ids = await buildProject(db);
const snapshot = await buildSnapshot(db, ids);
const worker = newId();
const [backend] = await db.run<{ pid: number }>({
  name: 'pid',
  text: 'select pg_backend_pid() as pid',
  values: [],
});

/** Milliseconds of CPU that the one backend has used; Linux counts them in hundredths of a second. */
function backendCpu(): number {
  const fields = readFileSync(`/proc/${backend!.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function measure(
  label: string,
  times: number,
  perCall: number,
  action: () => Promise<unknown>,
): Promise<void> {
  const pg = backendCpu();
  const node = process.cpuUsage();
  const began = performance.now();
  for (let n = 0; n < times; n++) await action();
  const { user, system } = process.cpuUsage(node);
  const micro = (total: number) => Math.round(total / times);
  const pgMicro = micro((backendCpu() - pg) * 1000);
  console.log(
    `${label.padEnd(16)} wall ${micro((performance.now() - began) * 1000)} µs, Postgres ${pgMicro} µs, Node ${micro(user + system)} µs` +
      `${perCall > 1 ? `; per commit ${Math.round(pgMicro / perCall)} + ${Math.round(micro(user + system) / perCall)} µs` : ''}`,
  );
}

interface Held {
  run: ClaimedRun;
  version: number;
  known: number;
  step: number;
}

function fence(
  held: Held,
): Pick<CommitItem, 'run' | 'worker' | 'epoch' | 'version' | 'thread' | 'known' | 'steers'> {
  const { run, version, known } = held;
  return { run: run.id, worker, epoch: run.epoch, version, thread: run.threadId, known, steers: 0 };
}

function answer(held: Held): CommitItem {
  const step = ++held.step;
  const id = `call_${step}`;
  const now = Date.now();
  return {
    ...fence(held),
    step,
    stepRow: {
      provider: 'bench',
      model: 'bench',
      attempt: 1,
      startedAt: now,
      firstTokenAt: now,
      finishedAt: now,
      inputTokens: 1,
      outputTokens: 1,
      cost: 0,
      finishReason: 'tool_calls',
    },
    messages: [
      {
        id: newId(),
        role: 'tool_call',
        callId: id,
        step,
        content: { id, name: 'lookup', arguments: { step } },
      },
    ],
    events: [
      { type: 'step.generated', step, data: { model: 'bench' } },
      { type: 'tool.started', step, message: 0, data: { id, tool: 'lookup' } },
    ],
    calls: [{ id, tool: 'lookup', args: { step }, effect: 'idempotent', status: 'running' }],
  };
}

function result(held: Held): CommitItem {
  const { step } = held;
  const id = `call_${step}`;
  return {
    ...fence(held),
    settled: [{ id, status: 'completed', output: TEXT }],
    messages: [
      { id: newId(), role: 'tool_result', callId: id, step, content: { result: TEXT, error: null } },
    ],
    events: [{ type: 'tool.completed', step, message: 0, data: { id } }],
    goEvents: [{ type: 'step.started', step: step + 1 }],
  };
}

await measure('select 1', 2000, 1, () => db.run({ name: 'one', text: 'select 1', values: [] }));
for (const batch of BATCHES) {
  const door = `bench${batch}`;
  await start(
    db,
    Array.from({ length: batch }, () => buildStart(ids, snapshot, TEXT, { run: { door } })),
  );
  const all: Held[] = (await claim(db, worker, batch, [door], {})).map((run) => ({
    run,
    version: run.version,
    known: run.lastSeq,
    step: 0,
  }));
  const take = (verdicts: Committed[]) =>
    verdicts.forEach((verdict, index) => {
      if (!verdict.ok) throw new Error(JSON.stringify(verdict));
      all[index]!.version++;
      all[index]!.known++;
    });
  const pair = async () => {
    take(await commit(db, all.map(answer)));
    take(await commit(db, all.map(result)));
  };
  for (let n = 0; n < 20; n++) await pair();
  await measure(`2 x batch of ${batch}`, Math.round(600 / Math.sqrt(batch)), 2 * batch, pair);
}
await db.close();
await postgres.stop();
rmSync(home, { recursive: true, force: true });
