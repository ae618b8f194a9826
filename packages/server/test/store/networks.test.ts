import { type NetworkDefinition, networkDefinition } from '@troupe/protocol';
import { Database, newId, silentLogger } from '@troupe/server';
import { createDatabase, stopwatch } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { definitionOf } from '../../src/definitions/networks/definition.ts';
import {
  insertNetwork,
  lockNetwork,
  readNetwork,
  writeDefinition,
} from '../../src/store/queries/networks.ts';
import { inTransaction } from '../../src/store/transaction.ts';

// The rows of a network and the document that they are edited as, one made from the other and back.

let db: Database;
let drop: () => Promise<void>;
const project = newId();

beforeAll(async () => {
  const database = await createDatabase(inject('postgresUrl'));
  drop = database.drop;
  db = new Database({ url: database.url, applicationName: 'networks', logger: silentLogger });
  await db.pool.query(`insert into troupe.projects (id, name) values ($1, 'networks')`, [project]);
  await db.pool.query(
    `insert into troupe.tools (id, project_id, name, description, kind, input_schema, effect, config)
      select gen_random_uuid(), $1, 'Tool' || n, '', 'echo', '{"type":"object"}', 'pure', '{}' from generate_series(0, 1999) n`,
    [project],
  );
});
afterAll(async () => {
  await db.close();
  await drop();
});

async function make(definition: NetworkDefinition): Promise<NetworkDefinition> {
  return inTransaction(db, async (transaction) => {
    const rows = await insertNetwork(transaction, project, definition);
    return definitionOf(await writeDefinition(transaction, { project, rows }, definition));
  });
}

async function change(name: string, edit: (definition: NetworkDefinition) => NetworkDefinition) {
  return inTransaction(db, async (transaction) => {
    const rows = (await lockNetwork(transaction, project, name))!;
    const after = await writeDefinition(transaction, { project, rows }, edit(definitionOf(rows)));
    return { before: rows, after, definition: definitionOf(after) };
  });
}

const LARGE = networkDefinition.parse({
  name: 'Large',
  tools: Array.from({ length: 2000 }, (_, n) => ({ key: `Tool${n}` })),
  agents: Array.from({ length: 1000 }, (_, n) => ({
    key: `agent${n}`,
    isDefault: n === 0,
    tools: [`Tool${n}`, `Tool${n + 1000}`],
    routes: Array.from({ length: 10 }, (_, step) => `agent${(n + step + 1) % 1000}`),
  })),
});

test('a network of 1,000 agents, 2,000 tools and 10,000 routes is written, read and edited', async () => {
  const elapsed = stopwatch();
  expect(await make(LARGE)).toEqual(LARGE);
  const { definition } = await change('large', (before) => ({
    ...before,
    agents: before.agents.map((agent, n) => (n === 7 ? { ...agent, routes: ['agent1'] } : agent)),
  }));
  // 0.8 s in all where nothing else runs; the limit is for what grows with the square of the size.
  expect(elapsed()).toBeLessThan(10_000);
  expect(definition.agents[7]!.routes).toEqual(['agent1']);
  expect({ ...definition.agents[7]!, routes: LARGE.agents[7]!.routes }).toEqual(LARGE.agents[7]);
});

test('any definition becomes any other, in its order, and the same one changes nothing', async () => {
  const agent = (key: string, more: object = {}) => ({ key, ...more });
  const documents = [
    { agents: [] },
    {
      tools: [
        { key: 'Tool1' },
        { key: 'Tool2', description: 'other', params: [{ name: 'x', default: null }] },
      ],
      agents: [
        agent('a', { isDefault: true, tools: ['Tool2', 'Tool1'], routes: ['b', 'c'] }),
        agent('b', { routes: ['a'] }),
        agent('c'),
      ],
    },
    // The default goes over, a list is turned round, one leaves from the middle, and one comes after the last.
    {
      tools: [{ key: 'Tool2' }, { key: 'Tool3' }],
      agents: [
        agent('a', { tools: ['Tool2'], routes: ['c', 'A2'] }),
        agent('c', { isDefault: true, routes: ['a'] }),
        agent('A2', { prompt: 'New.', metadata: { a: [1] } }),
      ],
    },
    {
      description: 'told',
      policy: { maxSteps: 3 },
      tools: [{ key: 'Tool3' }, { key: 'Tool0' }, { key: 'Tool2' }],
      agents: [agent('C', { routes: ['a2', 'A'] }), agent('a2', { isDefault: true }), agent('A')],
    },
  ].map((document) => networkDefinition.parse({ name: 'Small', ...document }));
  const told = (definition: NetworkDefinition) => ({
    ...definition,
    agents: definition.agents.map(({ routes, ...rest }) => ({
      ...rest,
      routes: routes.map((key) => key.toLowerCase()),
    })),
  });
  await make(documents[0]!);
  for (const from of documents) {
    for (const to of documents) {
      await change('SMALL', () => from);
      const { definition, after } = await change('small', () => to);
      expect(told(definition)).toEqual(told(to));
      expect(after.network).toMatchObject({ agent_count: to.agents.length, tool_count: to.tools.length });
      const again = await change(after.network.id, () => to);
      expect(again.after).toBe(again.before);
    }
  }
  expect(await readNetwork(db.rows, newId(), 'small')).toBeUndefined();
});
