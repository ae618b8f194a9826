/** W2: one turn with one tool call on a conversation of so many messages, a fresh conversation for each sample. */
import { setTimeout as pause } from 'node:timers/promises';
import { appCpu } from '../counters.ts';
import { type LongHistory, QUIET_SAMPLE_PERCENT, type Sample, WANTED_SAMPLES } from '../results.ts';
import { checkAnswer } from '../scenario.ts';
import { type Measured, nextId, warmUp } from './measured.ts';

/** Background writes land before the WAL is read. */
const SETTLE_MS = 60;
/** Two samples of a turn that takes this long are enough. */
const SLOW_TURN_MS = 4_000;

export async function measureLongHistory(measured: Measured, sizes: number[]): Promise<LongHistory> {
  await warmUp(measured);
  const result: LongHistory = { sizes: {} };
  for (const size of sizes) result.sizes[size] = await measureSize(measured, size);
  return result;
}

async function measureSize(measured: Measured, size: number): Promise<Sample[]> {
  const until = performance.now() + measured.seconds * 1_000;
  const samples: Sample[] = [];
  // The first sample pays for cold code and is dropped.
  await sample(measured, size);
  for (;;) {
    const one = await sample(measured, size);
    samples.push(one);
    const quiet = samples.filter(({ foreignPercent }) => foreignPercent <= QUIET_SAMPLE_PERCENT).length;
    if (quiet >= WANTED_SAMPLES || performance.now() > until) return samples;
    if (one.ms > SLOW_TURN_MS && samples.length >= 2) return samples;
  }
}

async function sample({ adapter, state, counters }: Measured, size: number): Promise<Sample> {
  const conversation = nextId(`c${size}-`);
  const id = nextId('t');
  await adapter.seed(state, conversation, size);
  await pause(SETTLE_MS);
  const before = await counters.read();
  const { at, appCpuMs } = appCpu();
  checkAnswer(id, await adapter.turn(state, conversation, id, { tools: 1, toolMs: 0 }));
  const end = appCpu();
  await pause(SETTLE_MS);
  const spent = counters.between(before, await counters.read());
  return {
    ms: end.at - at,
    appCpuMs: end.appCpuMs - appCpuMs,
    walBytes: spent.walBytes,
    serviceBytes: spent.serviceBytes,
    foreignPercent: spent.foreignPercent,
  };
}
