/** Starts measured processes and reads their reports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Failure } from './results.ts';
import type { Job } from './worker.ts';

export interface Report {
  type: string;
  at: number;
  [field: string]: unknown;
}

export interface Ended {
  reports: Report[];
  /** Undefined if the worker died before its result. */
  result: Report | undefined;
  signal: NodeJS.Signals | null;
  errors: string;
}

const MAX_ERRORS = 2_000;
const running = new Set<ChildProcess>();

export async function runWorker(job: Job, maxMs: number): Promise<Ended> {
  const child = spawn(
    process.execPath,
    [
      '--expose-gc',
      '--no-deprecation',
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, 'worker.ts'),
    ],
    { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'pipe'], env: workerEnvironment(job) },
  );
  running.add(child);
  const reports: Report[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => {
    if (line.startsWith('@@')) reports.push({ ...JSON.parse(line.slice(2)), at: performance.now() });
  });
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-MAX_ERRORS);
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), maxMs);
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  running.delete(child);
  return { reports, result: reports.find(({ type }) => type === 'result'), signal, errors };
}

/** Its result without what every report has, or why there is none. */
export async function measureInWorker(job: Job, maxMs: number): Promise<object | Failure> {
  const { result, signal, errors } = await runWorker(job, maxMs);
  if (!result) return { error: `${signal ? `killed by ${signal}: ` : ''}${errors.trim() || 'no result'}` };
  const { type: _type, at: _at, ...figures } = result;
  return figures;
}

export function killWorkers(): void {
  for (const child of running) child.kill('SIGKILL');
}

function workerEnvironment(job: Job): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: process.env.TMPDIR,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    NODE_ENV: 'production',
    BENCH_JOB: JSON.stringify(job),
    DO_NOT_TRACK: '1',
    LANGSMITH_TRACING: 'false',
    MASTRA_TELEMETRY_DISABLED: '1',
    RESTATE_LOGGING: 'ERROR',
  };
}
