import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { messageOf } from '../../../base/index.ts';

// Starts child.ts for one piece of code, answers what it asks, and sees to it that it is gone afterwards, however that went.

export interface CodeJob {
  code: string;
  timeLimitMs: number;
  signal: AbortSignal;
  /** What the code asks for its files; what it throws is an error inside the code. */
  answer(request: FileRequest): Promise<string>;
  /** Told the process, for tests that look whether it is gone. */
  onStart?(pid: number): void;
}

export type CodeOutcome =
  | { ok: true; result: string | null; output: string; cut: boolean }
  | { ok: false; kind: string; message: string; output: string; cut: boolean };

const MEMORY_BYTES = 64 * 1024 * 1024;
/** Of the whole process, where it can be seen: QuickJS with its limit, and what Node takes. */
const RESIDENT_BYTES = 400 * 1024 * 1024;
const OUTPUT_BYTES = 32_768;
const RESULT_BYTES = 65_536;
const START_MS = 20_000;
const GRACE_MS = 500;
const LONGEST_LINE = 4 * 1024 * 1024;
const MOST_REQUESTS = 5_000;
const LOOK_MS = 100;

const request = z.strictObject({
  ask: z.enum(['read', 'readBytes', 'write', 'list', 'delete']),
  path: z.string(),
  text: z.string().optional(),
  base64: z.string().optional(),
});
export type FileRequest = z.infer<typeof request>;
const said = { output: z.string().max(OUTPUT_BYTES * 2), cut: z.boolean() };
const line = z.union([
  z.strictObject({ ready: z.literal(true) }),
  request,
  z.strictObject({ done: z.strictObject({ result: z.string().max(RESULT_BYTES).nullable(), ...said }) }),
  z.strictObject({
    done: z.strictObject({ error: z.strictObject({ kind: z.string(), message: z.string() }), ...said }),
  }),
]);

/** Everything that the process must read: itself and QuickJS. The same ending as this file, which is .js where it is installed. */
const CHILD = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './child.ts' : './child.js', import.meta.url),
);
function readable(): string[] {
  const { resolve } = createRequire(import.meta.url);
  const packages = ['quickjs-emscripten-core', '@jitl/quickjs-ng-wasmfile-release-sync'].map((name) =>
    dirname(dirname(resolve(name))),
  );
  const types = createRequire(join(packages[0]!, 'package.json')).resolve('@jitl/quickjs-ffi-types');
  return [CHILD, ...[...packages, dirname(dirname(types))].map((folder) => join(folder, '*'))];
}

const LIMITS_OF_THE_SYSTEM = 'ulimit -c 0; ulimit -f 0; ulimit -t "$1"; shift; exec "$@"';

/** What Node is told: it reads these files, and neither writes, starts processes or threads, nor loads native code. */
export function walls(): string[] {
  return [
    '--permission',
    ...readable().map((path) => `--allow-fs-read=${path}`),
    '--max-old-space-size=128',
    '--no-warnings',
  ];
}

function start(timeLimitMs: number): ChildProcessWithoutNullStreams {
  const node = [process.execPath, ...walls(), CHILD];
  // Seconds of the processor: the last resort, which holds when the process that started this one is dead.
  const seconds = String(Math.ceil(timeLimitMs / 1_000) + 5);
  const limited = ['/bin/sh', '-c', LIMITS_OF_THE_SYSTEM, 'sh', seconds, ...node];
  const [command, ...rest] = existsSync('/bin/sh') ? limited : node;
  return spawn(command!, rest, { cwd: '/', env: { TZ: 'UTC' }, stdio: 'pipe', windowsHide: true });
}

/** Resolves when the process is gone, never before. */
export async function runInProcess(job: CodeJob): Promise<CodeOutcome> {
  job.signal.throwIfAborted();
  const child = start(job.timeLimitMs);
  let outcome: CodeOutcome | null = null;
  let killed: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = (why: string) => {
    killed ??= why;
    child.kill('SIGKILL');
  };
  const killAfter = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => end('time'), ms);
  };
  const onAbort = () => end('aborted');
  job.signal.addEventListener('abort', onAbort, { once: true });
  killAfter(START_MS);
  const stopLooking = watchMemory(child.pid, () => end('memory'));
  if (child.pid !== undefined) job.onStart?.(child.pid);
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-4_000);
  });
  // It may be gone while something is written to it.
  child.stdin.on('error', () => {});
  child.stdout.on('error', () => {});
  let requests = 0;
  const hear = async (text: string) => {
    const parsed = line.safeParse(parse(text));
    if (!parsed.success || outcome) return end('broken');
    const message = parsed.data;
    if ('ready' in message) {
      killAfter(job.timeLimitMs + GRACE_MS);
      const limits = { memoryBytes: MEMORY_BYTES, outputBytes: OUTPUT_BYTES, resultBytes: RESULT_BYTES };
      return send(child, { code: job.code, timeLimitMs: job.timeLimitMs, ...limits });
    }
    if ('ask' in message) {
      if (++requests > MOST_REQUESTS) return end('requests');
      return send(child, await answered(job, message));
    }
    const { done } = message;
    const { output, cut } = done;
    outcome =
      'error' in done
        ? { ok: false, ...done.error, output, cut }
        : { ok: true, result: done.result, output, cut };
  };
  let heard: Promise<unknown> = Promise.resolve();
  eachLine(child.stdout, (text) => {
    if (text === null) end('broken');
    else heard = heard.then(() => hear(text)).catch(() => end('broken'));
  });
  await new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => (child.pid === undefined ? resolve() : undefined));
  });
  clearTimeout(timer);
  stopLooking();
  job.signal.removeEventListener('abort', onAbort);
  await heard;
  job.signal.throwIfAborted();
  const kind = killed ?? (/heap out of memory|Out of memory/i.test(stderr) ? 'memory' : 'broken');
  return outcome ?? { ok: false, kind, message: '', output: '', cut: false };
}

async function answered(job: CodeJob, asked: FileRequest): Promise<object> {
  try {
    return { ok: true, value: await job.answer(asked) };
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
}

function send(child: ChildProcessWithoutNullStreams, message: object): void {
  if (child.stdin.writable) child.stdin.write(`${JSON.stringify(message)}\n`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Null: a line was longer than any that there should be. */
function eachLine(stream: NodeJS.ReadableStream, take: (line: string | null) => void): void {
  let parts: Buffer[] = [];
  let size = 0;
  stream.on('data', (given: Buffer) => {
    let chunk = given;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      take(Buffer.concat([...parts, chunk.subarray(0, end)]).toString('utf8'));
      parts = [];
      size = 0;
      chunk = chunk.subarray(end + 1);
    }
    size += chunk.length;
    if (size > LONGEST_LINE) take(null);
    else parts.push(chunk);
  });
}

/** On Linux, where the system tells it. Elsewhere the limits of QuickJS and of Node's heap are all there is. */
function watchMemory(pid: number | undefined, tooMuch: () => void): () => void {
  if (process.platform !== 'linux' || pid === undefined) return () => {};
  const timer = setInterval(() => {
    readFile(`/proc/${pid}/status`, 'utf8').then(
      (status) => {
        const resident = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
        if (resident > RESIDENT_BYTES) tooMuch();
      },
      () => {},
    );
  }, LOOK_MS);
  return () => clearInterval(timer);
}
