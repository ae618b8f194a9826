import { describe, expect, it } from 'vitest';
import { Trust } from '../../src/kernel/trust.ts';

describe('a worker trusts that its runs are its own', () => {
  it('from its first beat on, for as long as the next one comes in time', () => {
    const trust = new Trust(0);
    expect(trust.fresh(0)).toBe(false);
    expect(trust.acknowledged(100)).toBe(null);
    expect(trust.fresh(699)).toBe(true);
    expect(trust.fresh(700)).toBe(false);
  });

  it('only after it has looked, where its heart had stopped; a look that fails is made again', () => {
    const trust = new Trust(0);
    trust.acknowledged(0);
    const stop = trust.acknowledged(5_000)!;
    expect(stop).not.toBe(null);
    expect(trust.fresh(5_000)).toBe(false);
    trust.verified(stop, false);
    expect(trust.fresh(5_000)).toBe(false);
    expect(trust.acknowledged(5_200)).toBe(stop);
    expect(trust.fresh(5_200)).toBe(false);
    trust.verified(stop, true);
    expect(trust.fresh(5_200)).toBe(true);
  });
});
