/** Asks until the answer is truthy; the only way to wait for another process. Fails with what was last seen. */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value> | Value,
  timeoutMs = 15_000,
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
