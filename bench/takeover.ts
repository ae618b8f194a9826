// npm run bench:takeover [-- --trials 10 --server-trials 5]
// Where the time goes when a process dies. First workers: a worker that holds a run is killed (SIGKILL) or stopped (SIGSTOP), and the
// phases are read from the rows: queued again (detection and requeue), claimed, first commit. Then servers: a server is killed
// and started again at once, as a supervisor does, while a client posts the next turn with the SDK.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Troupe } from '@troupe/sdk';
import { createModels, Database, Kernel, migrate, silentLogger, startEmbedded } from '@troupe/server';
import { createScripted } from '@troupe/server/parts';
import { buildProject, buildSnapshot, buildStart, createDatabase, plainDoor } from '@troupe/testing';

const SELF = fileURLToPath(import.meta.url);
const MAIN = fileURLToPath(new URL('../packages/server/src/main.ts', import.meta.url));
const WORKERS = 3;

if (process.argv[2] === 'worker') await work(process.argv[3]!);
else await measure();

/** A worker whose model answers no run at its first claim, and every run that was taken over. */
async function work(url: string): Promise<void> {
  const db = new Database({ url, applicationName: 'bench', logger: silentLogger });
  const kernel = new Kernel({ db, logger: silentLogger });
  const scripted = createScripted(async ({ runId }) => {
    const { rows } = await db.pool.query('select epoch from troupe.runs where id = $1', [runId]);
    if (rows[0].epoch === 1) await new Promise(() => {});
    return { text: 'Done.' };
  });
  await kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: scripted.provider }),
    tools: { resolve: () => undefined },
  });
  process.send!('ready');
}

async function measure(): Promise<void> {
  const { values } = parseArgs({
    options: {
      trials: { type: 'string', default: '10' },
      'server-trials': { type: 'string', default: '5' },
    },
  });
  const home = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  const postgres = await startEmbedded({ home, logger: silentLogger });
  try {
    await measureWorkers(postgres.url, 'SIGKILL', Number(values.trials));
    await measureWorkers(postgres.url, 'SIGSTOP', Math.ceil(Number(values.trials) / 2));
    await measureServers(postgres.url, Number(values['server-trials']));
  } finally {
    await postgres.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

async function measureWorkers(postgresUrl: string, signal: 'SIGKILL' | 'SIGSTOP', trials: number) {
  const { url, drop } = await createDatabase(postgresUrl, null);
  await migrate(url);
  const db = new Database({ url, applicationName: 'bench', logger: silentLogger });
  const kernel = new Kernel({ db, logger: silentLogger });
  await kernel.listen();
  const ids = await buildProject(db);
  const snapshot = await buildSnapshot(db, ids);
  const workers = new Map<number, ChildProcess>();
  const enlist = async () => {
    const child = spawn(process.execPath, [SELF, 'worker', url], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    workers.set(child.pid!, child);
  };
  for (let n = 0; n < WORKERS; n++) await enlist();
  const phases: Record<string, number[]> = { 'queued again': [], claimed: [], 'first commit': [] };
  for (let trial = 0; trial < trials; trial++) {
    const item = buildStart(ids, snapshot, 'go');
    await kernel.start(item);
    const row = async () =>
      (
        await db.pool.query(
          `select r.status, w.pid, (extract(epoch from r.run_at) * 1000)::float8 as "runAt",
            (select (extract(epoch from max(e.created_at)) * 1000)::float8 from troupe.events e
              where e.run_id = r.id and e.thread_id = r.thread_id and e.type = 'run.resumed') as resumed,
            (extract(epoch from r.completed_at) * 1000)::float8 as completed
          from troupe.runs r left join troupe.workers w on w.incarnation = r.worker_id where r.id = $1`,
          [item.run.id],
        )
      ).rows[0];
    let now = await row();
    while (now.status !== 'running') now = await row();
    // Somewhere between two heartbeats.
    await delay(300 + Math.random() * 200);
    const victim = workers.get(now.pid)!;
    const at = Date.now();
    victim.kill(signal);
    while (now.status !== 'completed') {
      await delay(20);
      now = await row();
    }
    phases['queued again']!.push(now.runAt - at);
    phases.claimed!.push(now.resumed - at);
    phases['first commit']!.push(now.completed - at);
    workers.delete(victim.pid!);
    victim.kill('SIGKILL');
    await enlist();
  }
  print(`worker, ${signal}`, phases);
  for (const child of workers.values()) child.kill('SIGKILL');
  await kernel.close();
  await db.close();
  await drop();
}

async function measureServers(postgresUrl: string, trials: number): Promise<void> {
  const { url, drop } = await createDatabase(postgresUrl, null);
  const port = await freePort();
  const begin = () =>
    spawn(process.execPath, [MAIN, 'dev'], {
      env: { ...process.env, DATABASE_URL: url, PORT: String(port), HOST: '127.0.0.1', LOG_LEVEL: 'error' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const baseUrl = `http://127.0.0.1:${port}`;
  const isReady = async (path: string) => (await fetch(`${baseUrl}${path}`).catch(() => null))?.ok === true;
  let server = begin();
  while (!(await isReady('/readyz'))) await delay(20);
  const troupe = new Troupe({ baseUrl, retries: 50 });
  const agent = await troupe.agents.create({ body: { name: 'Bench' } });
  const session = await troupe.open(agent.id);
  const phases: Record<string, number[]> = { listening: [], ready: [], 'turn accepted': [] };
  for (let trial = 0; trial < trials; trial++) {
    const at = performance.now();
    server.kill('SIGKILL');
    await once(server, 'exit');
    server = begin();
    const until = async (path: string) => {
      while (!(await isReady(path))) await delay(10);
      return performance.now() - at;
    };
    const posted = session.send('Next?').then(() => performance.now() - at);
    const [listening, ready, accepted] = await Promise.all([until('/healthz'), until('/readyz'), posted]);
    phases.listening!.push(listening);
    phases.ready!.push(ready);
    phases['turn accepted']!.push(accepted);
  }
  print('server, SIGKILL and started again', phases);
  server.kill('SIGKILL');
  await once(server, 'exit');
  await drop();
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

function print(what: string, phases: Record<string, number[]>): void {
  console.log(`${what}: milliseconds after the signal`);
  for (const [phase, times] of Object.entries(phases)) {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) =>
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
    console.log(`  ${phase.padEnd(14)} p50 ${at(0.5)}  p95 ${at(0.95)}  max ${at(1)}`);
  }
}
