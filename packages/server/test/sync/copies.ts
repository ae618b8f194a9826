import { until } from '@troupe/testing';
import { expect } from 'vitest';
import type { Client } from '../../../sdk/test/rxdb.ts';
import type { Person, SyncFixture } from './fixture.ts';

// Whether a copy is equal to what the server has.

/** All documents of a collection, as a pull from the beginning brings them. */
export async function masterOf(
  fixture: SyncFixture,
  person: Person,
  name: string,
): Promise<Record<string, unknown>[]> {
  const all = new Map<string, Record<string, unknown>>();
  for (let checkpoint: string | null = null; ; ) {
    const from: string = checkpoint ? `&checkpoint=${checkpoint}` : '';
    const page: { documents: { id: string; _deleted: boolean }[]; checkpoint: string } = await fixture.done(
      person.headers,
      'GET',
      `/v1/sync/${name}/pull?limit=7${from}`,
    );
    for (const { _deleted, ...document } of page.documents) {
      if (_deleted) all.delete(document.id);
      else all.set(document.id, document);
    }
    if (page.documents.length < 7)
      return [...all.values()].toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
    checkpoint = page.checkpoint;
  }
}

export async function agreeWith(
  fixture: SyncFixture,
  client: Client,
  person: Person,
  ...names: Parameters<typeof Client.open>[1]
): Promise<void> {
  for (const name of names) {
    await until(`${name} is as the server has it`, async () => {
      const [here, there] = [await client.all(name), await masterOf(fixture, person, name)];
      return JSON.stringify(sorted(here)) === JSON.stringify(sorted(there));
    }).catch(async (error: unknown) => {
      expect(await client.all(name)).toEqual(await masterOf(fixture, person, name));
      throw error;
    });
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

export const ALL: Parameters<typeof Client.open>[1] = [
  'sessions',
  'messages',
  'runs',
  'spaces',
  'memberships',
  'tasks',
  'sub_agents',
  'sub_agent_messages',
  'sub_agent_tool_calls',
];
