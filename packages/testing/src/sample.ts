import { createHash } from 'node:crypto';

/** `npm run test:long`: all of what `npm test` takes a sample of. */
export const isLong = Boolean(process.env.TROUPE_TEST_LONG);

/** Which sample it is; vitest.config.ts chooses one for each commit and prints it. */
export const sampleSeed = Number(process.env.TROUPE_TEST_SEED ?? 1);

/** A share of these, at least one, in their order. The same seed takes the same of what has the same name. */
export function someOf<Item>(name: string, items: readonly Item[], share: number): Item[] {
  if (isLong) return [...items];
  const place = (index: number) =>
    createHash('md5').update(`${sampleSeed} ${name} ${index}`).digest().readUInt32BE();
  const places = items.map((item, index) => ({ item, index, at: place(index) }));
  const chosen = places.toSorted((one, two) => one.at - two.at).slice(0, Math.ceil(items.length * share));
  return chosen.toSorted((one, two) => one.index - two.index).map(({ item }) => item);
}

/** How often something is tried that comes out in another way each time. */
export function oftenOf(times: number): number {
  return isLong ? times : Math.ceil(times / 4);
}
