import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterAll(() => server.close());

/** What the first example of a page writes, run as it stands. */
async function saidBy(page: string): Promise<unknown[][]> {
  const [, example] = /```ts\n([\s\S]+?)```/.exec(readFileSync(here(`../../../docs/${page}.md`), 'utf8'))!;
  const file = here(`./example-${page}-${process.pid}.gen.ts`);
  const said: unknown[][] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((...words) => said.push(words));
  try {
    writeFileSync(file, example!.replace('http://localhost:4700', server.url));
    await import(file);
  } finally {
    log.mockRestore();
    rmSync(file, { force: true });
  }
  return said;
}

it('the example of docs/sdk.md runs as it stands', async () => {
  const said = await saidBy('sdk');
  expect(said[0]![0]).toContain('4');
  const types = said.slice(1).map(([, type]) => type);
  expect(types.filter((type) => type === 'run.completed')).toHaveLength(2);
  expect(types.at(-1)).toBe('run.completed');
  expect(said.slice(1).map(([sequence]) => sequence)).toEqual(types.map((_, at) => at + 1));
});

it('the example of docs/spaces.md runs as it stands', async () => {
  expect(await saidBy('spaces')).toEqual([
    ['Grace', '2+2 = 4.'],
    ['completed', false],
  ]);
});

it('the example of docs/sync.md runs as it stands', async () => {
  expect(await saidBy('sync')).toEqual([['2+2 = 4.']]);
});
