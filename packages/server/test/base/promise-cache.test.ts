import { expect, test } from 'vitest';
import { PromiseCache } from '../../src/base/index.ts';

function counted() {
  let loads = 0;
  return { load: async () => ++loads, count: () => loads };
}

test('shares one load between concurrent requests and remembers its value', async () => {
  const cache = new PromiseCache<number>({ max: 10, ttlMs: 60_000 });
  const { load, count } = counted();
  expect(await Promise.all([cache.get('a', load), cache.get('a', load)])).toEqual([1, 1]);
  expect(await cache.get('a', load)).toBe(1);
  expect(await cache.get('b', load)).toBe(2);
  cache.delete('a');
  expect(await cache.get('a', load)).toBe(3);
  cache.clear();
  expect(await cache.get('b', load)).toBe(4);
  expect(count()).toBe(4);
});

test('does not remember a failure, and a late failure removes no newer value', async () => {
  const cache = new PromiseCache<number>({ max: 10, ttlMs: 60_000 });
  const first = Promise.withResolvers<number>();
  const failing = cache.get('a', () => first.promise);
  cache.clear();
  const newer = cache.get('a', async () => 2);
  first.reject(new Error('gone'));
  await expect(failing).rejects.toThrow('gone');
  expect(await newer).toBe(2);
  expect(await cache.get('a', async () => 3)).toBe(2);
  await expect(cache.get('b', () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  expect(await cache.get('b', async () => 4)).toBe(4);
});

test('drops the least recently used key above its size, and loads every time without a time to live', async () => {
  const cache = new PromiseCache<number>({ max: 2, ttlMs: 60_000 });
  const { load } = counted();
  for (const key of ['a', 'b', 'a', 'c']) await cache.get(key, load);
  expect(await cache.get('a', load)).toBe(1);
  expect(await cache.get('b', load)).toBe(4);
  const none = new PromiseCache<number>({ max: 2, ttlMs: 0 });
  expect([await none.get('a', async () => 1), await none.get('a', async () => 2)]).toEqual([1, 2]);
});
