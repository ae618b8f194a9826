import { describe, expect, it } from 'vitest';
import { isDead, Trust, Watch } from '../../src/kernel/trust.ts';

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

describe('a worker watches another', () => {
  it('and looks again at the moment at which that one is due to be judged', () => {
    const watch = new Watch();
    expect(watch.nextDue(0)).toBe(null);
    watch.look('other', 1, 100);
    expect(watch.nextDue(150)).toBe(800);
    watch.look('other', 2, 300);
    expect(watch.nextDue(400)).toBe(1_000);
    expect(watch.silent(999)).toEqual([]);
    const [silent] = watch.silent(1_000);
    expect(isDead(silent!, false)).toBe(true);
    // It holds its lock: the next moment is the one at which it counts as hung.
    expect(isDead(silent!, true)).toBe(false);
    expect(watch.nextDue(1_000)).toBe(3_300);
    expect(isDead(watch.silent(3_300)[0]!, true)).toBe(true);
    expect(watch.nextDue(3_300)).toBe(null);
  });

  it('and judges nobody before its own amnesty has ended', () => {
    const watch = new Watch();
    watch.amnesty(0);
    watch.look('other', 1, 100);
    expect(watch.nextDue(100)).toBe(2_000);
    expect(watch.silent(1_999)).toEqual([]);
    expect(watch.silent(2_000)).toHaveLength(1);
  });

  it('for longer than that one trusts itself, whenever the beat was seen', () => {
    for (let sent = 0; sent < 200; sent += 7) {
      for (let seen = sent; seen < sent + 400; seen += 13) {
        const trust = new Trust(0);
        trust.acknowledged(sent);
        const watch = new Watch();
        watch.look('other', 1, seen);
        expect(trust.fresh(watch.nextDue(seen)!)).toBe(false);
      }
    }
  });
});
