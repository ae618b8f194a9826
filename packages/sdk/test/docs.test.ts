import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openServer } from '@troupe/testing';
import { expect, inject, it, vi } from 'vitest';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

it('the example of docs/sdk.md runs as it stands', async () => {
  const [, example] = /```ts\n([\s\S]+?)```/.exec(readFileSync(here('../../../docs/sdk.md'), 'utf8'))!;
  const server = await openServer({ postgresUrl: inject('postgresUrl') });
  const file = here(`./example-${process.pid}.gen.ts`);
  const said: unknown[][] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((...words) => said.push(words));
  try {
    writeFileSync(file, example!.replace('http://localhost:4700', server.url));
    await import(file);
  } finally {
    log.mockRestore();
    rmSync(file, { force: true });
    await server.close();
  }
  expect(said[0]![0]).toContain('4');
  const types = said.slice(1).map(([, type]) => type);
  expect(types.filter((type) => type === 'run.completed')).toHaveLength(2);
  expect(types.at(-1)).toBe('run.completed');
  expect(said.slice(1).map(([sequence]) => sequence)).toEqual(types.map((_, at) => at + 1));
});
