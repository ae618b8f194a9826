import { newId } from '@troupe/server';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { erasePerson } from '../../src/lifecycle/index.ts';
import { LifecycleFixture } from './fixture.ts';

let fixture: LifecycleFixture;
beforeAll(async () => {
  fixture = await LifecycleFixture.open({ jobs: true });
});
afterAll(() => fixture.close());

const finished = (entityId: string) =>
  until('the erasure is done', async () => {
    const erasure = await fixture.troupe.entities.erasure({ params: { entityId } });
    return erasure.status === 'done' ? erasure : null;
  });

/** The whole database as text, to look for words in. */
async function everything(): Promise<string> {
  const { rows: tables } = await fixture.db.pool.query(
    `select relname from pg_class where relnamespace = 'troupe'::regnamespace and relkind = 'r'`,
  );
  const texts: string[] = [];
  for (const { relname } of tables) {
    const { rows } = await fixture.db.pool.query(`select to_jsonb(x) as row from troupe.${relname} x`);
    texts.push(...rows.map(({ row }) => `${relname} ${JSON.stringify(row)}`));
  }
  const { rows: files } = await fixture.db.pool.query(
    `select convert_from(content, 'UTF8') as text from troupe.files`,
  );
  return texts.join('\n') + JSON.stringify(files);
}

test('erases a person with everything that belongs to them, and leaves a receipt', async () => {
  const { troupe, agentId } = fixture;
  const ada = await troupe.entities.create({
    body: { externalId: 'ada-secretname', displayName: 'Ada Secretname', metadata: { phone: 'secretphone' } },
  });
  const bob = await troupe.entities.create({ body: { externalId: 'bob' } });
  const session = await fixture.session({ user: 'ada-secretname', title: 'secrettitle' });
  await fixture.say(session, 'use it for secretword');
  const waiting = await fixture.session({ user: 'ada-secretname' });
  const live = await fixture.say(waiting, 'wait for secretword');
  await fetch(
    `${fixture.server.url}/v1/agents/${agentId}/sessions/${session.id}/files/content?path=/secret.txt`,
    {
      method: 'PUT',
      body: 'secretfile',
      headers: { 'content-type': 'text/plain' },
    },
  );
  const other = await fixture.session({ user: 'bob' });
  await fixture.say(other, 'use mine');
  await fixture.db.pool.query(
    `insert into troupe.memories (project_id, entity_id, owner_id, key, value)
      select $1, e.id, $2, 'likes', 'secretmemory' from troupe.entities e where e.agent_id = $3`,
    [fixture.project, ada.id, agentId],
  );
  const space = await troupe.spaces.create({
    body: { name: 'shared', members: [{ entityId: ada.id }, { entityId: bob.id }] },
  });
  const post = (senderId: string, text: string) =>
    troupe.spaces.post({ params: { spaceId: space.id }, body: { senderId, content: { text } } });
  await post(ada.id, 'secretsaying');
  await post(bob.id, 'my own words');
  expect(await everything()).toContain('secretsaying');

  const requested = await troupe.entities.erase({ params: { entityId: ada.id } });
  expect(requested).toMatchObject({ entityId: ada.id });
  const receipt = await finished(ada.id);
  expect(receipt.counts).toMatchObject({
    sessions: 2,
    runs: 2,
    files: 1,
    memories: 1,
    spaceMessages: 1,
    entitiesAnonymised: 1,
  });
  expect(await fixture.count('runs', `id = '${live}'`)).toBe(0);
  const left = await everything();
  for (const word of [
    'secretname',
    'Secretname',
    'secretphone',
    'secrettitle',
    'secretword',
    'secretfile',
    'secretmemory',
    'secretsaying',
  ])
    expect(left.split('\n').filter((line) => line.includes(word))).toEqual([]);
  // What others have and said stays.
  const params = { agentId, sessionId: other.id };
  expect((await troupe.sessions.listMessages({ params })).data).toHaveLength(4);
  const said = await troupe.spaces.messages({ params: { spaceId: space.id } });
  expect(said.data.map(({ content }) => (content as { text: string }).text)).toEqual([
    '[deleted]',
    'my own words',
  ]);
  expect(await fixture.count('tombstones', `collection = 'sessions' and id = '${session.id}'`)).toBe(1);

  const { data } = await troupe.access.listAudit({ query: { action: 'entity.eras' } });
  expect(data.map(({ action, target }) => [action, target])).toEqual([
    ['entity.erased', ada.id],
    ['entity.erasure_requested', ada.id],
  ]);
  expect(data[0]!.data).toMatchObject({ counts: receipt.counts });
  // Repeating it changes nothing; a person of the same name is somebody else.
  expect(await troupe.entities.erase({ params: { entityId: ada.id } })).toEqual(receipt);
  const again = await troupe.entities.create({ body: { externalId: 'ada-secretname' } });
  expect(again.id).not.toBe(ada.id);
  expect(await violations(fixture.db.pool)).toEqual([]);
});

test('deletes the entity of a person who said nothing in spaces', async () => {
  const person = await fixture.troupe.entities.create({ body: { externalId: newId() } });
  await fixture.session({ user: person.externalId! });
  await fixture.troupe.entities.erase({ params: { entityId: person.id } });
  expect((await finished(person.id)).counts).toMatchObject({ sessions: 1, entities: 1 });
  expect(await fixture.count('entities', `id = '${person.id}'`)).toBe(0);
});

test('counts right when it is interrupted after any batch', async () => {
  const person = await fixture.troupe.entities.create({ body: { externalId: newId() } });
  for (let session = 0; session < 45; session++) await fixture.session({ user: person.externalId! });
  const { rows } = await fixture.db.pool.query(
    'select thread_id as thread from troupe.sessions where entity_id = $1 limit 1',
    [person.id],
  );
  await fixture.db.pool.query(
    `with grown as (update troupe.threads set last_message_seq = 5000 where id = $1)
      insert into troupe.messages (thread_id, seq, id, role, content) select $1, n, gen_random_uuid(), 'user', '{"text": "x"}' from generate_series(1, 5000) n`,
    [rows[0].thread],
  );
  await fixture.db.pool.query(
    `insert into troupe.erasures (entity_id, project_id, actor_kind) values ($1, $2, 'system')`,
    [person.id, fixture.project],
  );
  // A process that dies shows as a pool that gives out no more connections, after so many of them.
  const { pool } = fixture.db;
  let interruptions = 0;
  for (let connections = 1; ; connections++) {
    let left = connections;
    const dying = {
      query: pool.query.bind(pool),
      connect: () => (left-- > 0 ? pool.connect() : Promise.reject(new Error('gone'))),
    };
    const db = new Proxy(fixture.db, {
      get: (real, name) => {
        if (name === 'pool') return dying;
        const value = Reflect.get(real, name, real);
        return typeof value === 'function' ? value.bind(real) : value;
      },
    });
    const done = await erasePerson(
      { db, kernel: fixture.server.kernel },
      { project: fixture.project, entity: person.id },
    ).then(
      () => true,
      (error: Error) => {
        if (error.message !== 'gone') throw error;
        return false;
      },
    );
    if (done) break;
    interruptions++;
  }
  expect(interruptions).toBeGreaterThan(1);
  const receipt = await fixture.troupe.entities.erasure({ params: { entityId: person.id } });
  expect(receipt.counts).toMatchObject({ sessions: 45, messages: 5_000 });
  expect(await fixture.count('messages', `thread_id = '${rows[0].thread}'`)).toBe(0);
});

test('refuses agents and people of other projects', async () => {
  const { data } = await fixture.troupe.entities.list({ query: { agentId: fixture.agentId } });
  await expect(fixture.troupe.entities.erase({ params: { entityId: data[0]!.id } })).rejects.toMatchObject({
    code: 'entity_of_agent',
  });
  const params = { entityId: newId() };
  await expect(fixture.troupe.entities.erase({ params })).rejects.toMatchObject({ status: 404 });
  await expect(fixture.troupe.entities.erasure({ params })).rejects.toMatchObject({ status: 404 });
});
