/**
 * A measured process: loads one adapter and does one workload. run.ts starts it and hands over the job in BENCH_JOB.
 * It reports with lines that begin with @@, since systems under test print lines of their own.
 */
import { availableParallelism } from 'node:os';
import type { Adapter, Ports } from './adapter.ts';
import { Counters } from './counters.ts';
import type { Workload } from './systems.ts';
import { awaitRecovery, recordEffects, startBatch } from './workloads/crash.ts';
import { measureLongHistory } from './workloads/long-history.ts';
import type { Measured } from './workloads/measured.ts';
import { measureMemory } from './workloads/memory.ts';
import { measureThroughput } from './workloads/throughput.ts';

export interface Job {
  workload: Workload | 'W3 recovery' | 'load';
  adapter: string;
  variant: string;
  databaseUrl: string;
  ports: Ports;
  postmasterPid: number;
  servicePids: number[];
  poolSize: number;
  seconds: number;
  historySizes: number[];
  /** W3 only. */
  crash?: { ledgerUrl: string; runIds: string[]; killAfterTools?: number };
}

const job: Job = JSON.parse(process.env.BENCH_JOB!);

function report(type: string, data: object = {}): void {
  process.stdout.write(`\n@@${JSON.stringify({ type, ...data })}\n`);
}

async function loadAdapter(): Promise<Adapter<unknown>> {
  const { adapter }: { adapter: Adapter<unknown> } = await import(`./adapters/${job.adapter}.ts`);
  return adapter;
}

async function measure(): Promise<object> {
  if (job.workload === 'W5') {
    const { measureDoors } = await import('./workloads/doors.ts');
    return measureDoors(job);
  }
  const firstWorker = job.workload === 'W3';
  const killSwitch = job.crash && recordEffects(job.crash.ledgerUrl, firstWorker, job.crash.killAfterTools);
  const adapter = await loadAdapter();
  const { databaseUrl, poolSize, variant, ports } = job;
  const state = await adapter.setUp({ databaseUrl, poolSize, variant, ports });
  if (job.crash) {
    const { runIds } = job.crash;
    if (firstWorker) {
      report('started');
      await startBatch(adapter.crash!, state, runIds, killSwitch!);
      return {};
    }
    report('ready');
    return awaitRecovery(adapter.crash!, state, runIds, (unfinished) => report('automatic', { unfinished }));
  }
  if (job.workload === 'load') return {};
  const counters = await Counters.open({ ...job, cores: availableParallelism() });
  const measured: Measured = { adapter, state, counters, seconds: job.seconds };
  if (job.workload === 'W1') return measureThroughput(measured);
  if (job.workload === 'W2') return measureLongHistory(measured, job.historySizes);
  return measureMemory(measured);
}

try {
  report('result', await measure());
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
