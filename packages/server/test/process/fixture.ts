import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { furnish, until } from '@troupe/testing';
import pg from 'pg';
import { afterAll, afterEach, inject } from 'vitest';

export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ofTest: (() => unknown)[] = [];
const ofFile: (() => unknown)[] = [];
let cleanups = ofTest;

const undo = async (list: (() => unknown)[]) => {
  for (const clean of list.splice(0).reverse()) await clean();
};
afterEach(() => undo(ofTest));
afterAll(() => undo(ofFile));

/** Undone after the test, in reverse order. */
export function after(clean: () => unknown): void {
  cleanups.push(clean);
}

/** In `beforeAll`: what begins in it is there for all tests of the file. */
export async function forAll<Value>(begin: () => Promise<Value>): Promise<Value> {
  cleanups = ofFile;
  try {
    return await begin();
  } finally {
    cleanups = ofTest;
  }
}

/** A directory that others may pass, gone after the test together with a Postgres left in it. */
export function tempHome(): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-process-')));
  chmodSync(home, 0o755);
  after(async () => {
    const pid = postmasterPid(home);
    if (pid !== undefined && isRunning(pid)) {
      process.kill(pid, 'SIGKILL');
      await until('the postmaster is gone', () => !isRunning(pid));
    }
    rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  });
  return home;
}

/** The same after a first start: what that takes is not what most tests are about. */
export async function usedHome(): Promise<string> {
  const home = tempHome();
  await furnish(home, inject('homesDirectory'));
  return home;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** main.ts in a process of its own; killed after the test. */
export class Troupe {
  readonly child: ChildProcess;
  readonly port: number;
  readonly began = performance.now();
  readonly exit: Promise<number>;
  output = '';
  errors = '';

  constructor(command: string, env: Record<string, string>, nodeOptions: string[] = []) {
    this.port = Number(env.PORT ?? 0);
    const { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE } = process.env;
    this.child = spawn(process.execPath, [...nodeOptions, MAIN, ...command.split(' ')], {
      env: { PATH, HOME, NODE_OPTIONS, NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.on('data', (data) => {
      this.output += data;
    });
    this.child.stderr!.on('data', (data) => {
      this.errors += data;
    });
    this.exit = once(this.child, 'close').then(([code, signal]) => code ?? signal);
    after(async () => {
      this.child.kill('SIGKILL');
      await this.exit;
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async ask(path: string): Promise<{ status: number; body: Record<string, unknown> } | null> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`).catch(() => null);
    return response && { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Until it is well; answers how long that took since the start, in milliseconds. */
  async ready(): Promise<number> {
    await until('healthz answers 200', async () => {
      if (this.ended) throw new Error(`it ended:\n${this.output}\n${this.errors}`);
      return (await this.ask('/healthz'))?.status === 200;
    });
    return performance.now() - this.began;
  }

  /** Until it has said this on its standard output. */
  async said(text: string): Promise<void> {
    await until(`it says "${text}"`, () => {
      if (this.ended && !this.output.includes(text))
        throw new Error(`it ended:\n${this.output}\n${this.errors}`);
      return this.output.includes(text);
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    this.child.kill(signal);
    return this.exit;
  }
}

export async function startDev(home: string, more: Record<string, string> = {}): Promise<Troupe> {
  return new Troupe('dev', { TROUPE_HOME: home, PORT: String(await freePort()), ...more });
}

export function postmasterPid(home: string): number | undefined {
  const path = join(home, 'postgres/data/postmaster.pid');
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split('\n')[0]) : undefined;
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The address of the Postgres that `dev` started in this home. */
export function embeddedUrl(home: string): string {
  const password = readFileSync(join(home, 'postgres/password'), 'utf8').trim();
  const port = readFileSync(join(home, 'postgres/port'), 'utf8').trim();
  return `postgres://troupe:${password}@127.0.0.1:${port}/troupe`;
}

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  after(() => client.end().catch(() => {}));
  return client;
}

/** Makes the process busy: a purge that waits for a table, until the returned function is called. */
export async function holdUp(url: string): Promise<() => Promise<void>> {
  const client = await connect(url);
  await client.query('begin; lock table troupe.budget_leases in access exclusive mode');
  const other = await connect(url);
  await other.query(`select graphile_worker.add_job('purge')`);
  await until('the purge waits', async () => {
    const { rows } = await other.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%budget_leases%'`,
    );
    return rows.length > 0;
  });
  return async () => void (await client.query('rollback'));
}
