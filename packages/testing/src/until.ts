/** Longer than anything takes on a machine that is busy with something else. A wait ends when its condition holds, so this costs nothing. */
export const PATIENCE_MS = 60_000;

/** Asks until the answer is truthy; the only way to wait for another process. */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value> | Value,
  timeoutMs = PATIENCE_MS,
): Promise<NonNullable<Value>> {
  const began = performance.now();
  let last: Value | undefined;
  for (;;) {
    last = await ask();
    if (last) return last;
    if (performance.now() - began > timeoutMs) throw new Error(`still not: ${what}, after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
