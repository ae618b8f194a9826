// What Troupe promises against the floor and the peers, from one run of the harness: figures of different runs say nothing.

interface Window {
  runsPerS: number;
  foreignPct: number;
}
interface Crash {
  error?: string;
  uninterruptedMs: number | null;
  killAfterTools: number;
  msUntilAllFinished: number | null;
  neverFinishWithoutManual: number;
  toolRepeatsAlthoughRunHadMovedOn: number;
}
interface System {
  w1?: { levels?: Record<string, Window[]> };
  w2?: { sizes?: Record<string, { ms: number }[]> };
  w3?: Crash[];
  w4?: { idleRssMb: number; rssAfterMb: number; heapAfterGcMb: number; sequentialRuns: number };
}
export interface Results {
  systems: Record<string, System>;
}

const DURABLE_PEERS = /^(dbos|restate|langgraph:sync|mastra:durable|vercel-workflow)/;

/** What W1 must reach at a number of runs at once, as a share of the floor and of the best durable peer. */
const PROMISED: Record<number, { floor: number; peers: number }> = {
  16: { floor: 0.75, peers: 2 },
  64: { floor: 1, peers: 2 },
};
/** How long a takeover may take beyond the work that is left, and how much memory may be in use after 1,000 runs. */
const TAKEOVER_MS = 2_500;
const HEAP_MB = 64;

/** Prints the figures and answers with the promises that they break. */
export function printRatios({ systems }: Results): string[] {
  const broken: string[] = [];
  const troupe = systems['troupe:default'];
  if (!troupe) return broken;
  const rate = (system: System | undefined, level: number): number | null => {
    const windows = system?.w1?.levels?.[level];
    if (!windows?.length) return null;
    const quiet = windows.filter((window) => window.foreignPct <= 10);
    const used = (quiet.length > 0 ? quiet : windows).map((window) => window.runsPerS).sort((a, b) => a - b);
    return used[Math.floor((used.length - 1) / 2)]!;
  };
  for (const level of [1, 16, 64]) {
    const own = rate(troupe, level);
    const floor = rate(systems['floor:1rt'], level);
    if (own === null) continue;
    const peers = Object.entries(systems)
      .filter(([name]) => DURABLE_PEERS.test(name))
      .map(([name, system]) => ({ name, rate: rate(system, level) ?? 0 }))
      .sort((a, b) => b.rate - a.rate);
    const promised = PROMISED[level];
    if (promised && floor !== null && own < promised.floor * floor) {
      broken.push(`W1 at ${level}: less than ${promised.floor} x the floor`);
    }
    if (promised && peers[0]?.rate && own < promised.peers * peers[0].rate) {
      broken.push(`W1 at ${level}: less than ${promised.peers} x ${peers[0].name}`);
    }
    console.log(
      `W1 at ${level}: ${own.toFixed(0)} runs/s${floor === null ? '' : `, ${(own / floor).toFixed(2)} x floor:1rt (${floor.toFixed(0)})`}` +
        `${peers[0]?.rate ? `, ${(own / peers[0].rate).toFixed(1)} x ${peers[0].name} (${peers[0].rate.toFixed(0)}), the best durable peer` : ''}`,
    );
  }
  const sizes = Object.entries(troupe.w2?.sizes ?? {});
  for (const [size, samples] of sizes) {
    const sorted = samples.map((sample) => sample.ms).sort((a, b) => a - b);
    console.log(
      `W2 at ${size} messages: ${sorted[Math.floor((sorted.length - 1) / 2)]?.toFixed(1)} ms a turn`,
    );
  }
  const calm = troupe.w3?.find((trial) => trial.uninterruptedMs)?.uninterruptedMs ?? null;
  for (const trial of troupe.w3 ?? []) {
    if (trial.error) {
      console.log(`W3: ${trial.error}`);
      broken.push(`W3: ${trial.error}`);
      continue;
    }
    const remaining = calm === null ? null : calm * (1 - trial.killAfterTools / 500);
    if (trial.neverFinishWithoutManual > 0 || trial.msUntilAllFinished === null)
      broken.push('W3: runs that never finish');
    else if (remaining !== null && trial.msUntilAllFinished > TAKEOVER_MS + remaining)
      broken.push(`W3: later than ${TAKEOVER_MS} ms after what was left`);
    if (trial.toolRepeatsAlthoughRunHadMovedOn > 0)
      broken.push('W3: tools repeated that the run had moved past');
    console.log(
      `W3 killed after ${trial.killAfterTools} of 500 tools: all finished after ${trial.msUntilAllFinished ?? 'never'} ms` +
        `${remaining === null ? '' : ` (promised: ${TAKEOVER_MS} + ${remaining.toFixed(0)})`}, ${trial.neverFinishWithoutManual} left, ` +
        `${trial.toolRepeatsAlthoughRunHadMovedOn} tools repeated that the run had moved past`,
    );
  }
  if (troupe.w4) {
    const { idleRssMb, rssAfterMb, heapAfterGcMb, sequentialRuns } = troupe.w4;
    if (heapAfterGcMb > HEAP_MB)
      broken.push(`W4: more than ${HEAP_MB} MB in use after ${sequentialRuns} runs`);
    console.log(
      `W4: ${idleRssMb} MB at start, ${rssAfterMb} MB after ${sequentialRuns} runs, ${heapAfterGcMb} MB of heap in use`,
    );
  }
  return broken;
}
