import { until } from '@troupe/testing';
import { expect, it } from 'vitest';
import { Turns } from '../../src/tools/builtin/sandbox/turns.ts';

const wanted = new AbortController().signal;

class NetworkFixture {
  readonly turns: Turns;
  readonly running: string[] = [];
  readonly #ends = new Map<string, () => void>();

  constructor(waitMs: number) {
    this.turns = new Turns({ atOnce: 4, perProject: 2, waitMs });
  }

  take(name: string, signal = wanted): Promise<unknown> {
    return this.turns.take(name.slice(0, 1), signal, () => {
      this.running.push(name);
      return new Promise<void>((resolve) => this.#ends.set(name, resolve));
    });
  }

  end(name: string): void {
    this.running.splice(this.running.indexOf(name), 1);
    this.#ends.get(name)!();
  }

  now(...names: string[]): Promise<unknown> {
    return until(`${names} run`, async () => `${this.running}` === `${names}`);
  }
}

it('one project has half of the places, and projects take turns', async () => {
  const fixture = new NetworkFixture(60_000);
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2', 'c2'].map((name) => fixture.take(name));
  await fixture.now('a1', 'a2', 'b1', 'c1');
  fixture.end('a1');
  // Of those that wait, the turn of a was the longest ago, then that of b.
  await fixture.now('a2', 'b1', 'c1', 'a3');
  fixture.end('c1');
  await fixture.now('a2', 'b1', 'a3', 'b2');
  fixture.end('b1');
  await fixture.now('a2', 'a3', 'b2', 'c2');
  fixture.end('c2');
  fixture.end('b2');
  // Two places are free, and not for a fourth of the same project.
  await all[6];
  expect(fixture.running).toEqual(['a2', 'a3']);
  fixture.end('a2');
  await fixture.now('a3', 'a4');
  fixture.end('a3');
  fixture.end('a4');
  await Promise.all(all);
});

it('who waits too long is told that nothing ran, and who is no longer wanted gives up the place', async () => {
  const fixture = new NetworkFixture(50);
  const first = [fixture.take('a1'), fixture.take('a2')];
  await expect(fixture.take('a3')).rejects.toMatchObject({
    code: 'sandbox_busy',
    message: expect.stringContaining('did not run'),
  });
  const leaving = new AbortController();
  const left = fixture.take('a4', leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  const last = fixture.take('a5');
  fixture.end('a1');
  await fixture.now('a2', 'a5');
  fixture.end('a2');
  fixture.end('a5');
  await Promise.all([...first, last]);
});
