// npm run bench:http [-- --seconds 5 --readers 200]
// Sessions over HTTP as a client sees them: a server in a process of its own, on loopback, with the demo model; every session
// posts a message, reads its events as they come, and posts the next when the run has ended. Beside it the same turns without
// HTTP, in this process and on the same Postgres: compare within one run only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createModels, Database, Kernel, migrate, silentLogger, startEmbedded } from '@troupe/server';
import { createDemo, createTools, sessionsDoor } from '@troupe/server/parts';
import { buildProject, buildSnapshot, buildStart, createDatabase } from '@troupe/testing';

const LEVELS = [1, 16, 64];
const TEXT = 'How much is 2+2?';
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, readers: { type: 'string', default: '200' } },
});
const SECONDS = Number(values.seconds);
const READERS = Number(values.readers);

const home = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const postgres = await startEmbedded({ home, logger: silentLogger });

/** Does turns for so long, so many at once; answers how many a second. */
async function rate(level: number, turn: (lane: number) => Promise<void>): Promise<number> {
  for (let lane = 0; lane < level; lane++) await turn(lane);
  let done = 0;
  const began = performance.now();
  const until = began + SECONDS * 1_000;
  const lanes = Array.from({ length: level }, async (_, lane) => {
    while (performance.now() < until) {
      await turn(lane);
      done++;
    }
  });
  await Promise.all(lanes);
  return done / ((performance.now() - began) / 1_000);
}

async function measureInProcess(): Promise<Map<number, number>> {
  const { url } = await createDatabase(postgres.url, null);
  await migrate(url);
  const db = new Database({ url, applicationName: 'bench', logger: silentLogger });
  const kernel = new Kernel({ db, logger: silentLogger });
  const demo = createDemo();
  await kernel.work({
    doors: [sessionsDoor],
    models: createModels({ demo: () => demo }),
    tools: createTools(),
  });
  const ids = await buildProject(db);
  const snapshot = await buildSnapshot(db, ids, { models: [{ provider: 'demo', model: 'demo' }] });
  const rates = new Map<number, number>();
  for (const level of LEVELS) {
    const threads: string[] = [];
    rates.set(
      level,
      await rate(level, async (lane) => {
        const thread = threads[lane];
        const run = { door: sessionsDoor.name, serial: true };
        const item = buildStart(ids, snapshot, TEXT, { run, ...(thread ? { thread } : {}) });
        threads[lane] ??= item.thread;
        await kernel.start(item);
        const ended = await kernel.ended(item.run.id);
        if (ended.status !== 'completed') throw new Error(JSON.stringify(ended));
      }),
    );
  }
  await kernel.close();
  await db.close();
  return rates;
}

async function measureHttp(inProcess: Map<number, number>): Promise<void> {
  const { url: DATABASE_URL } = await createDatabase(postgres.url, null);
  const port = await freePort();
  const main = fileURLToPath(import.meta.resolve('@troupe/server/main'));
  const { PATH, HOME } = process.env;
  const env = {
    PATH,
    HOME,
    DATABASE_URL,
    HOST: '127.0.0.1',
    PORT: String(port),
    TROUPE_HOME: home,
    LOG_LEVEL: 'error',
  };
  const server = spawn(process.execPath, [main, 'dev'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const base = `http://127.0.0.1:${port}`;
  try {
    while (!(await fetch(`${base}/healthz`).catch(() => null))?.ok) {
      if (server.exitCode !== null) throw new Error('the server ended');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const agent = await post(`${base}/v1/agents`, { name: 'bench' });
    const sessions = `${base}/v1/agents/${agent.id}/sessions`;
    for (const level of LEVELS) await measureLevel(sessions, level, inProcess.get(level)!);
    await measureIdle(base, sessions);
  } finally {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
  }
}

async function measureLevel(sessions: string, level: number, inProcess: number): Promise<void> {
  const readers = await Promise.all(Array.from({ length: level }, () => Reader.open(sessions)));
  const firsts: number[] = [];
  const turns: number[] = [];
  const perSecond = await rate(level, async (lane) => {
    const reader = readers[lane]!;
    const began = performance.now();
    const [first, end] = reader.turn();
    await post(`${reader.address}/messages`, { content: { text: TEXT } });
    firsts.push((await first) - began);
    turns.push((await end) - began);
  });
  for (const reader of readers) reader.close();
  console.log(
    `${String(level).padStart(3)} sessions: ${perSecond.toFixed(0).padStart(5)} turns/s, ${(perSecond / inProcess).toFixed(2)} x in-process (${inProcess.toFixed(0)}); ` +
      `first event after ${quantile(firsts, 0.5)} ms (p99 ${quantile(firsts, 0.99)}), turn ${quantile(turns, 0.5)} ms (p99 ${quantile(turns, 0.99)})`,
  );
}

/** What readers cost who have nothing to read. */
async function measureIdle(base: string, sessions: string): Promise<void> {
  const usage = async () => {
    const text = await (await fetch(`${base}/metrics`)).text();
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
    return {
      cpu: value('process_cpu_seconds_total'),
      rss: value('process_resident_memory_bytes'),
      at: performance.now(),
    };
  };
  const over = async (): Promise<{ percent: number; rss: number }> => {
    const before = await usage();
    await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
    const after = await usage();
    return { percent: ((after.cpu - before.cpu) * 100_000) / (after.at - before.at), rss: after.rss };
  };
  const without = await over();
  const readers: Reader[] = [];
  for (let n = 0; n < READERS; n++) readers.push(await Reader.open(sessions));
  const during = await over();
  for (const reader of readers) reader.close();
  console.log(
    `${READERS} idle readers: ${(during.percent - without.percent).toFixed(1)} % of a core (${without.percent.toFixed(1)} without), ` +
      `${((during.rss - without.rss) / 1024 / READERS).toFixed(0)} KB each`,
  );
}

/** One session and whoever reads its events. */
class Reader {
  readonly address: string;
  readonly #abort = new AbortController();
  #onEvent: (type: string) => void = () => {};

  private constructor(address: string) {
    this.address = address;
  }

  static async open(sessions: string): Promise<Reader> {
    const { id } = await post(sessions, {});
    const reader = new Reader(`${sessions}/${id}`);
    const response = await fetch(`${reader.address}/events`, {
      headers: { accept: 'text/event-stream' },
      signal: reader.#abort.signal,
    });
    if (!response.ok) throw new Error(await response.text());
    const joined = new Promise<void>((resolve) => {
      reader.#onEvent = () => resolve();
    });
    void reader.#read(response.body!).catch(() => {});
    await joined;
    return reader;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = '';
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line.startsWith('event: ')) this.#onEvent(line.slice(7));
    }
  }

  /** When the next event comes, and when the run has ended. */
  turn(): [Promise<number>, Promise<number>] {
    const first = Promise.withResolvers<number>();
    const end = Promise.withResolvers<number>();
    this.#onEvent = (type) => {
      first.resolve(performance.now());
      if (type === 'run.completed') end.resolve(performance.now());
      else if (type === 'run.failed') end.reject(new Error('the run failed'));
    };
    return [first.promise, end.promise];
  }

  close(): void {
    this.#abort.abort();
  }
}

async function post(url: string, body: unknown): Promise<{ id: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  return (await response.json()) as { id: string };
}

function quantile(list: number[], at: number): string {
  const sorted = list.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) * at)] ?? 0).toFixed(1);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

try {
  const inProcess = await measureInProcess();
  await measureHttp(inProcess);
} finally {
  await postgres.stop();
  rmSync(home, { recursive: true, force: true });
}
