/** Processor time of one sample, in milliseconds. */
const SAMPLE_MS = 5;
const SAMPLE_EVERY_MS = 200;

/**
 * Starts a stopwatch whose reading does not depend on what else the machine does: elapsed time divided by contention.
 * `const elapsed = stopwatch(); …; expect(elapsed()).toBeLessThan(1_000)` holds on a busy machine as on an idle one.
 */
export function stopwatch(): () => number {
  const samples = [contention()];
  const began = performance.now();
  const sampling = setInterval(() => samples.push(contention()), SAMPLE_EVERY_MS).unref();
  return () => {
    const elapsed = performance.now() - began;
    clearInterval(sampling);
    return elapsed / Math.max(...samples, contention());
  };
}

/** How many times longer a computation takes than the processor time it uses: 1 on an idle machine. */
export function contention(): number {
  const began = performance.now();
  const used = threadMs();
  while (threadMs() - used < SAMPLE_MS);
  return Math.max(1, (performance.now() - began) / (threadMs() - used));
}

/** Processor time that an action uses in this thread, in milliseconds: for bounds on computations. */
export async function processorMs(action: () => unknown): Promise<number> {
  const used = threadMs();
  await action();
  return threadMs() - used;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
