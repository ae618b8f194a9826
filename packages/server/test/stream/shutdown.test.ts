import { newId } from '@troupe/server';
import { buildSession, createDatabase, stopwatch, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { after, startDev, tempHome } from '../process/fixture.ts';
import { Client } from './client.ts';
import { connect } from './fixture.ts';

test('a process that is told to stop says good-bye to its readers, and is not held up by them', async () => {
  const database = await createDatabase(inject('postgresUrl'));
  after(() => database.drop());
  const db = connect(database.url);
  after(() => db.close());
  const dev = await startDev(tempHome(), { DATABASE_URL: database.url });
  await dev.ready();
  const { rows } = await db.pool.query<{ id: string }>(
    `select id from troupe.projects where name = 'default'`,
  );
  const ids = { project: rows[0]!.id, agent: newId(), entity: newId() };
  await db.pool.query('insert into troupe.agents (id, project_id, name) values ($1, $2, $3)', [
    ids.agent,
    ids.project,
    'somebody',
  ]);
  const session = await buildSession(db, ids);
  const url = `http://127.0.0.1:${dev.port}${session.path}`;
  const clients = Array.from({ length: 20 }, () => new Client(url));
  await until('all connected', () => clients.every(({ frames }) => frames.length > 0));
  const elapsed = stopwatch();
  expect(await dev.stop()).toBe(0);
  // Below the two seconds that requests under way are given.
  expect(elapsed()).toBeLessThan(1_900);
  await until('all ended', () => clients.every(({ ended }) => ended !== null));
  expect(clients.map(({ ended }) => ended)).toEqual(clients.map(() => 'by the server'));
  for (const { frames } of clients) expect(frames.at(-1)!.event).toBe('disconnecting');
  // Not all at once.
  expect(new Set(clients.map(({ retryMs }) => retryMs)).size).toBeGreaterThan(10);
});
