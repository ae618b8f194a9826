/**
 * The one test command: format, lint, rooms, exports, types, lockfile, schema, tests of kernel and store on the oldest Postgres that is
 * supported, and all tests. Stops at the first stage that fails.
 * `node tools/check.ts --only types,rooms` runs a part; `--long` before that has the tests play in full what they otherwise take a sample of.
 * The stages before the schema only read files, so they run two at a time, and the tests on the oldest Postgres, which wait a lot and
 * measure no time, beside them; all are reported in order.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

const root = resolve(import.meta.dirname, '..');

interface Result {
  ok: boolean;
  /** Shown where the stage failed. */
  output: string;
  /** Said at the very end, where all went well. */
  closing?: string;
}

interface Stage {
  name: string;
  /** Only reads files, so that it may run beside others. */
  static: boolean;
  /** Its output is printed when it passes too. */
  shown?: true;
  run(): Promise<Result>;
}

/**
 * By itself the compiler checks in four threads, each of which infers anew what the others have: 18.9 s of processor time instead of
 * 8.2 s, and both cores are busy as it is. It collects its garbage less often, too, which saves another 1.7 s.
 */
const compiler = ['node_modules/typescript/bin/tsc', '--singleThreaded'];
const biome = 'node_modules/@biomejs/biome/bin/biome';
const running = new Set<ChildProcess>();

const stages: Stage[] = [
  { name: 'format', static: true, run: () => node([biome, 'format', '.']) },
  { name: 'lint', static: true, run: () => node([biome, 'lint', '--error-on-warnings', '.']) },
  { name: 'rooms', static: true, run: () => node(['tools/rooms.ts']) },
  { name: 'exports', static: true, shown: true, run: () => node(['tools/exports.ts']) },
  {
    name: 'types',
    static: true,
    run: () => node([...compiler, '--noEmit', '-p', 'tsconfig.json'], 'kept', { GOGC: '400' }),
  },
  {
    name: 'web types',
    static: true,
    run: () => node([...compiler, '--noEmit', '-p', 'tsconfig.web.json'], 'kept', { GOGC: '400' }),
  },
  { name: 'lockfile', static: true, run: checkVersions },
  // Once for all tests that open it.
  { name: 'console', static: true, run: () => node(['tools/console.ts', '--if-changed']) },
  { name: 'schema', static: false, run: () => node(['tools/schema.ts']) },
  { name: 'tests on 15', static: false, run: runTestsOnOldest },
  { name: 'tests', static: false, run: runTests },
];

/** Runs a program of ours with the Node that runs this one, so that a second Node on the machine plays no part. */
function node(
  args: string[],
  output: 'kept' | 'live' = 'kept',
  variables: Record<string, string> = {},
): Promise<Result> {
  return new Promise((done, fail) => {
    const stdio = output === 'live' ? 'inherit' : 'pipe';
    const env = { ...process.env, ...variables };
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', stdio, stdio] });
    running.add(child);
    const chunks: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', fail);
    child.on('close', (code) => {
      running.delete(child);
      done({ ok: code === 0, output: Buffer.concat(chunks).toString() });
    });
  });
}

/**
 * A lockfile names no download address, so that every machine asks the registry it is set to; and a version is one
 * version. Peers are ranges by nature and are left alone.
 */
async function checkVersions(): Promise<Result> {
  const problems: string[] = [];
  const find = (name: string) =>
    globSync(`**/${name}`, { cwd: root, exclude: ['**/node_modules', '.git', '.troupe', '**/dist'] }).sort();
  for (const file of find('package-lock.json')) {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    lines.forEach((line, index) => {
      if (line.includes('"resolved": "http')) problems.push(`${file}:${index + 1}  ${line.trim()}`);
    });
  }
  for (const file of find('package.json')) {
    const manifest: Record<string, unknown> = JSON.parse(readFileSync(join(root, file), 'utf8'));
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      for (const [name, version] of Object.entries((manifest[kind] ?? {}) as Record<string, string>)) {
        if (/^(npm:(@[^@/]+\/)?[^@/]+@)?\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version)) continue;
        problems.push(`${file}  ${kind}: ${name} is "${version}"; give one exact version`);
      }
    }
  }
  return { ok: problems.length === 0, output: problems.join('\n') };
}

async function runTests(): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-check-'));
  try {
    const report = join(folder, 'tests.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const result = await node(['node_modules/vitest/vitest.mjs', 'run', ...reporters], 'live');
    if (!result.ok) return result;
    const { numPassedTests }: { numPassedTests: number } = JSON.parse(readFileSync(report, 'utf8'));
    return { ...result, closing: `${numPassedTests} passed, 0 failed` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * What differs between versions of Postgres is what they make of statements: migrations, queries and the functions of the kernel, alone and
 * in pairs at the same time. The other races repeat those pairs with more at once, which is ours and not Postgres's. There are no binaries of 15 for
 * every system.
 */
function runTestsOnOldest(): Promise<Result> {
  const all = ['fencing', 'interleavings', 'processes', 'spaces'];
  const races = (process.env.TROUPE_TEST_LONG ? all : ['fencing']).map((name) => `races/${name}.race`);
  const chosen = ['kernel/', 'store/', ...races].map((path) => `packages/server/test/${path}`);
  // It starts a 15 of its own, for whoever runs tests on a newer one only.
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=dot',
    '--exclude=**/postgres-15.test.ts',
    ...chosen,
  ];
  return node(args, 'kept', { TROUPE_TEST_POSTGRES: '15' });
}

function chosenStages(args: string[]): Stage[] {
  const [flag, list, ...rest] = args;
  if (flag === undefined) return stages;
  const names = list?.split(',') ?? [];
  const unknown = names.find((name) => !stages.some((stage) => stage.name === name));
  if (flag !== '--only' || names.length === 0 || rest.length > 0 || unknown !== undefined) {
    if (unknown !== undefined) console.error(`There is no stage "${unknown}".`);
    console.error(`Usage: node tools/check.ts [--long] [--only ${stages.map(({ name }) => name).join(',')}]`);
    process.exit(2);
  }
  return stages.filter(({ name }) => names.includes(name));
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** Runs one stage and keeps what it said; the report comes later, in order. */
async function timed(stage: Stage): Promise<Result & { time: string }> {
  const began = performance.now();
  const result = await stage.run();
  return { ...result, time: seconds(began) };
}

async function main(): Promise<boolean> {
  const args = process.argv.slice(2);
  const isLong = args[0] === '--long';
  if (isLong) process.env.TROUPE_TEST_LONG = '1';
  const chosen = chosenStages(isLong ? args.slice(1) : args);
  const began = performance.now();
  const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
  const started = new Map<Stage, ReturnType<typeof timed>>();
  for (const [index, stage] of chosen.filter((one) => one.static).entries()) {
    const lane = index % lanes.length;
    const result = lanes[lane]!.then(() => timed(stage));
    result.catch(() => {}); // it is awaited below, unless an earlier stage fails first
    lanes[lane] = result;
    started.set(stage, result);
  }
  const beside = chosen.find(({ run }) => run === runTestsOnOldest);
  if (beside) {
    const result = timed(beside);
    result.catch(() => {});
    started.set(beside, result);
  }
  let closing: string | undefined;
  for (const stage of chosen) {
    const { ok, output, time, ...rest } = await (started.get(stage) ?? timed(stage));
    console.log(`${ok ? 'ok    ' : 'FAILED'} ${stage.name.padEnd(11)} ${time}`);
    closing = rest.closing ?? closing;
    if (ok && stage.shown) console.log(output.trimEnd().replace(/^/gm, '       '));
    if (ok) continue;
    if (output) console.log(`\n${output.trimEnd()}\n`);
    console.log(`The check failed at "${stage.name}" after ${seconds(began)}.`);
    return false;
  }
  console.log(`Everything passed in ${seconds(began)}.`);
  if (closing) console.log(closing);
  return true;
}

let passed = false;
try {
  passed = await main();
} finally {
  for (const child of running) child.kill();
}
process.exit(passed ? 0 : 1);
