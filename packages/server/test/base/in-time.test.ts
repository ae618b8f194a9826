import { expect, it } from 'vitest';
import { inProcessorTime, OutOfTime } from '../../src/base/in-time.ts';

it('begins work again that was broken off without having had the processor', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let tries = 0;
  const work = () => {
    if (++tries === 1) Atomics.wait(cell, 0, 0, 60_000);
    return 'done';
  };
  expect(inProcessorTime(100, work)).toBe('done');
  expect(tries).toBe(2);
});

it('breaks off work that uses its processor time', () => {
  expect(() =>
    inProcessorTime(50, () => {
      for (;;);
    }),
  ).toThrow(OutOfTime);
});
