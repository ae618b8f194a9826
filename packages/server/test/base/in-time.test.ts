import { expect, it } from 'vitest';
import { inProcessorTime, OutOfTime } from '../../src/base/in-time.ts';

it('retries work that was interrupted while it did not have the processor', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let tries = 0;
  const work = () => {
    if (++tries === 1) Atomics.wait(cell, 0, 0, 60_000);
    return 'done';
  };
  expect(inProcessorTime(100, work)).toBe('done');
  expect(tries).toBe(2);
});

it('counts the processor time of all tries together', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let tries = 0;
  const work = () => {
    tries++;
    const began = process.cpuUsage();
    while (process.cpuUsage(began).user < 150_000);
    Atomics.wait(cell, 0, 0, 60_000);
  };
  expect(() => inProcessorTime(400, work)).toThrow(OutOfTime);
  expect(tries).toBeLessThan(5);
});

it('interrupts work that uses up its processor time', () => {
  expect(() =>
    inProcessorTime(50, () => {
      for (;;);
    }),
  ).toThrow(OutOfTime);
});
