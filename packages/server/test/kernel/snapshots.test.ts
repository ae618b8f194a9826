import { randomBytes } from 'node:crypto';
import { newId } from '@troupe/server';
import { openKernel } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { Snapshots } from '../../src/kernel/snapshots.ts';

test('snapshots are kept as far as there is room for them, however large they are', async () => {
  const fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: false });
  try {
    const kept = new Snapshots(fixture.db);
    const small = await fixture.snapshot({ name: newId() });
    const large: string[] = [];
    // What cannot be compressed: a megabyte and a half each.
    for (let n = 0; n < 7; n++)
      large.push(
        await fixture.snapshot({ name: newId(), prompt: randomBytes(1_000_000).toString('base64') }),
      );
    for (const id of [small, ...large, small]) expect((await kept.load([id])).get(id)).toBeDefined();
    const isKept = large.map((id) => kept.known(id) !== undefined);
    expect(isKept.slice(0, 2)).toEqual([false, false]);
    expect(isKept.slice(-3)).toEqual([true, true, true]);
    expect(kept.known(small)).toBeDefined();
    // All of one claim are there, also where they are too many to be kept.
    expect((await kept.load(large)).size).toBe(7);
    expect(large.filter((id) => kept.known(id)).length).toBeLessThan(7);
  } finally {
    await fixture.close();
  }
});
