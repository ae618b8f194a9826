import { randomBytes } from 'node:crypto';
import type { Agent } from '@troupe/protocol';
import { Database, newId, silentLogger } from '@troupe/server';
import { Access, bringFirstAgents, Encryption } from '@troupe/server/parts';
import { createDatabase, openServer } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bringMissingAgents } from '../../src/definitions/agents/first-agents.ts';
import { ensureProject } from '../../src/store/queries/projects.ts';

const postgresUrl = inject('postgresUrl');

describe('over HTTP', () => {
  let server: Awaited<ReturnType<typeof openServer>>;

  beforeAll(async () => {
    server = await openServer({ postgresUrl });
  });

  afterAll(() => server.close());

  async function ask<Body>(method: string, path: string, body?: object, key?: string): Promise<Body> {
    const headers = {
      'content-type': 'application/json',
      ...(key ? { authorization: `Bearer ${key}` } : {}),
    };
    const sent = body === undefined ? null : JSON.stringify(body);
    const answer = await fetch(`${server.url}/v1${path}`, { method, headers, body: sent });
    expect([path, answer.status < 300]).toEqual([path, true]);
    return answer.json() as Promise<Body>;
  }

  test('a project has general and researcher from the start, as agents that can be changed', async () => {
    const { key, id } = await ask<{ key: string; id: string }>('POST', '/projects', { name: 'another' });
    for (const by of [undefined, key]) {
      const { data } = await ask<{ data: Agent[] }>('GET', '/agents', undefined, by);
      expect(data.map(({ name, version, defaultModelId }) => [name, version, defaultModelId])).toEqual([
        ['researcher', 1, null],
        ['general', 1, null],
      ]);
      const [researcher] = data;
      const { tools } = await ask<{ tools: { name: string }[] }>(
        'GET',
        `/agents/${researcher!.id}/preview`,
        undefined,
        by,
      );
      expect(tools.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['web_search', 'web_fetch', 'note_finding', 'current_time']),
      );
      const changed = { description: 'finds out' };
      expect(await ask('PATCH', `/agents/${researcher!.id}`, changed, by)).toMatchObject({ version: 2 });
    }
    const { rows } = await server.db.pool.query(
      `select action, actor_kind, count(*)::int from troupe.audit_log where project_id = $1 and action = 'agent.created' group by 1, 2`,
      [id],
    );
    expect(rows).toEqual([{ action: 'agent.created', actor_kind: 'system', count: 2 }]);
  });
});

describe('into projects that are there already', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let db: Database;

  beforeAll(async () => {
    database = await createDatabase(postgresUrl);
    db = new Database({ url: database.url, applicationName: 'troupe/test', logger: silentLogger });
  });

  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  async function names(project: string): Promise<string[]> {
    const { rows } = await db.pool.query<{ name: string }>(
      'select name from troupe.agents where project_id = $1 order by name',
      [project],
    );
    return rows.map(({ name }) => name);
  }

  test('they are brought once, however many processes start, and a name that is taken stays whose it is', async () => {
    const [plain, taken] = [newId(), newId()];
    await db.pool.query(`insert into troupe.projects (id, name) values ($1, 'plain'), ($2, 'taken')`, [
      plain,
      taken,
    ]);
    await db.pool.query(
      `insert into troupe.agents (id, project_id, name, status) values (gen_random_uuid(), $1, 'General', 'archived')`,
      [taken],
    );
    await Promise.all([bringMissingAgents(db), bringMissingAgents(db), bringMissingAgents(db)]);
    expect(await names(plain)).toEqual(['general', 'researcher']);
    expect(await names(taken)).toEqual(['General', 'researcher']);

    await db.pool.query(
      `update troupe.agents set name = 'Rita' where project_id = $1 and name = 'researcher'`,
      [plain],
    );
    await bringMissingAgents(db);
    expect(await names(plain)).toEqual(['Rita', 'general']);
  });

  test('the first project is made with them, by whoever comes first', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => ensureProject(db, bringFirstAgents)));
    expect(new Set(ids).size).toBe(1);
    expect(await names(ids[0]!)).toEqual(['general', 'researcher']);
  });

  test('a project that cannot be furnished is not made', async () => {
    const furnish = async () => {
      throw new Error('no');
    };
    const encryption = new Encryption([{ id: 'v1', key: randomBytes(32) }]);
    const access = new Access({ db, mode: 'open', encryption, furnish });
    const caller = await access.authenticate(new Headers({ host: '127.0.0.1' }));
    await expect(access.projects.create(caller, 'half')).rejects.toThrow('no');
    const { rowCount } = await db.pool.query(`select from troupe.projects where name = 'half'`);
    expect(rowCount).toBe(0);
  });
});
