/**
 * npm run bench:peers: the same agent work on Troupe, a hand-written floor and other systems, on one machine in one run.
 * Every system and workload gets a fresh database and a fresh process. README.md explains the workloads and the figures.
 * Start reading: measureAll, then workloads/.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Service, ServiceOptions } from './adapter.ts';
import { runCrashTrial } from './crash-trial.ts';
import { installedVersions, installPeers } from './install.ts';
import { machineText } from './machine.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { freePorts } from './ports.ts';
import { type BenchPostgres, startPostgres } from './postgres.ts';
import { machineBusyMs } from './processes.ts';
import { checkFigures } from './ratios.ts';
import { renderReport } from './report.ts';
import type { Failure, Results, SystemResults } from './results.ts';
import { keyOf, type System, type Workload } from './systems.ts';
import type { Job } from './worker.ts';
import { killWorkers, measureInWorker } from './worker-process.ts';

const POOL_SIZE = 20;
const IDLE_SHARE = 0.12;
const MAX_WORKLOAD_MS = 300_000;
const resultsFolder = resolve(import.meta.dirname, '../results');
const summaryFile = join(import.meta.dirname, 'summary.md');

/** Undone in reverse order at the end, and when the command is interrupted: Postgres would outlive it otherwise. */
const cleanups: (() => unknown)[] = [];

async function cleanUp(): Promise<void> {
  killWorkers();
  for (let undo = cleanups.pop(); undo; undo = cleanups.pop()) await undo();
}

class Run {
  readonly #options: Options;
  readonly #postgres: BenchPostgres;
  readonly #directory: string;

  constructor(options: Options, postgres: BenchPostgres, directory: string) {
    this.#options = options;
    this.#postgres = postgres;
    this.#directory = directory;
  }

  /**
   * Loads the system once and fills the compile cache: no measured process pays for parsing or for erasing types, and
   * none keeps the type eraser in memory.
   */
  async load(system: System): Promise<object | Failure> {
    return orFailure(() => this.#withJob(system, 'load', (job) => measureInWorker(job, MAX_WORKLOAD_MS)));
  }

  async measure(system: System, workload: Workload, results: SystemResults): Promise<void> {
    await this.#waitForIdle();
    if (workload === 'W3') {
      const trials: SystemResults['W3'] = [];
      results.W3 = trials;
      for (let trial = 0; trial < this.#options.trials; trial++) {
        trials.push(
          await orFailure(() =>
            runCrashTrial(this.#postgres, trial, (work) => this.#withJob(system, 'W3', work)),
          ),
        );
      }
      return;
    }
    const result = await orFailure(() =>
      this.#withJob(system, workload, (job) => measureInWorker(job, MAX_WORKLOAD_MS)),
    );
    Object.assign(results, { [workload]: result });
  }

  /** A fresh database and, if the system has one, a fresh service; both are gone afterwards. */
  async #withJob<Result>(
    system: System,
    workload: Workload | 'load',
    work: (job: Job) => Promise<Result>,
  ): Promise<Result> {
    const databaseUrl = await this.#postgres.createDatabase(`bench_${workload.toLowerCase()}`);
    const ports = await freePorts();
    const directory = mkdtempSync(join(this.#directory, `${system.name}-`));
    const service = await startService(system, { directory, databaseUrl, ports });
    const stop = async () => service?.stop();
    cleanups.push(stop);
    try {
      return await work({
        workload,
        adapter: system.adapter,
        variant: system.variant,
        databaseUrl,
        ports,
        postmasterPid: this.#postgres.postmasterPid,
        servicePids: service?.pids ?? [],
        poolSize: POOL_SIZE,
        seconds: this.#options.seconds,
        historySizes: system.historySizes,
      });
    } finally {
      cleanups.splice(cleanups.indexOf(stop), 1);
      await stop();
      rmSync(directory, { recursive: true, force: true });
    }
  }

  /** Other processes spoil figures: waits for an idle machine, but not for ever. */
  async #waitForIdle(): Promise<void> {
    const until = performance.now() + this.#options.waitQuietSeconds * 1_000;
    const sampleMs = 1_000;
    for (;;) {
      if (performance.now() >= until) return;
      const before = machineBusyMs();
      await pause(sampleMs);
      if ((machineBusyMs() - before) / (sampleMs * availableParallelism()) < IDLE_SHARE) return;
    }
  }
}

async function startService(system: System, options: ServiceOptions): Promise<Service | undefined> {
  if (!system.service) return undefined;
  const { start }: { start(options: ServiceOptions): Promise<Service> } = await import(
    `./adapters/${system.service}.ts`
  );
  return start(options);
}

async function orFailure<Result>(work: () => Promise<Result>): Promise<Result | Failure> {
  try {
    return await work();
  } catch (error) {
    return { error: String(error instanceof Error ? error.message : error) };
  }
}

async function measureAll(options: Options): Promise<Results> {
  const { systems, skipped } = installPeers(options.systems);
  const directory = mkdtempSync(join(tmpdir(), 'troupe-peers-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const until = performance.now() + options.minutes * 60_000;
  const startedAt = new Date().toISOString();
  process.env.NODE_COMPILE_CACHE ??= join(directory, 'compiled');
  const postgres = await startPostgres(directory);
  cleanups.push(() => postgres.stop());
  console.log(`Machine: ${machineText(postgres.machine)}.`);
  for (const [key, reason] of Object.entries(skipped)) console.log(`Skipping ${key}: ${reason}.`);
  const results: Results = {
    startedAt,
    endedAt: startedAt,
    machine: postgres.machine,
    versions: installedVersions(systems),
    settings: { seconds: options.seconds, trials: options.trials, poolSize: POOL_SIZE },
    complete: options.complete,
    systems: {},
  };
  for (const { durability, durable, ...system } of options.systems) {
    const reason = skipped[keyOf(system)];
    results.systems[keyOf(system)] = { durability, durable, ...(reason ? { skipped: reason } : {}) };
  }
  const run = new Run(options, postgres, directory);
  for (const system of systems) {
    const loaded = await run.load(system);
    if ('error' in loaded) console.log(`${keyOf(system)} cannot be loaded: ${loaded.error}`);
  }
  // One workload after the other, so that the systems are compared within minutes of each other.
  for (const workload of options.workloads) {
    for (const system of systems.filter((one) => one.workloads.includes(workload))) {
      const key = keyOf(system);
      if (performance.now() > until) {
        console.log(`${workload} ${key}: not measured, --minutes ${options.minutes} are over.`);
        continue;
      }
      const began = performance.now();
      await run.measure(system, workload, results.systems[key]!);
      const failure = [results.systems[key]![workload]].flat().find((one) => one && 'error' in one);
      const seconds = Math.round((performance.now() - began) / 1_000);
      console.log(`${workload} ${key}: ${failure ? 'FAILED' : 'measured'} in ${seconds} s`);
      if (failure) console.log((failure as Failure).error);
    }
  }
  results.endedAt = new Date().toISOString();
  return results;
}

function save(results: Results): void {
  mkdirSync(resultsFolder, { recursive: true });
  const file = join(resultsFolder, `peers-${results.startedAt.replaceAll(/[:.]/g, '-')}.json`);
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
  console.log(`Raw results: ${file}`);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    console.log(USAGE);
    return;
  }
  const results: Results = options.from
    ? JSON.parse(readFileSync(options.from, 'utf8'))
    : await measureAll(options);
  if (!options.from) save(results);
  const figures = checkFigures(results);
  const report = renderReport(results, figures);
  console.log(`\n${report}`);
  if (options.summary) writeFileSync(summaryFile, report);
  const missed = figures.filter(
    ({ verdict }) => verdict === 'fail' || (verdict === 'none' && results.complete),
  );
  if (options.check && missed.length > 0) process.exitCode = 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void cleanUp().finally(() => process.exit(1));
  });
}
try {
  await main();
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}
