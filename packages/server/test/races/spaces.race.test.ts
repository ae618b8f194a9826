import { newId } from '@troupe/server';
import { buildAgent, type KernelFixture, openKernel, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { addMember, createSpace, deleteSpace, removeMember } from '../../src/doors/spaces/index.ts';

// A space that is deleted while people talk in it, members come and go, and its runs begin and end.

let fixture: KernelFixture;
beforeAll(async () => {
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), work: false });
});
afterAll(() => fixture.close());

const ROUNDS = 12;
const POSTS = 6;

const SPACE = {
  name: null,
  description: null,
  policy: 'all',
  limits: { chainDepth: 8, agentRuns: 50 },
  metadata: {},
} as const;

test('whatever happens at once: the space is gone, its runs have ended, and nobody is left with half of it', async () => {
  const { db, kernel, ids } = fixture;
  const who = { project: ids.project, entityId: null };
  const other = await buildAgent(db, ids);
  const snapshot = await fixture.snapshot();
  const person = newId();
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, external_id) values ($1, $2, 'human', 'ada')`,
    [person, ids.project],
  );
  const agents = [ids, other].map(({ agent, entity }) => ({ agent, entity, snapshot, wallMs: 60_000 }));
  let posted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { id: space } = await createSpace(fixture, who, {
      ...SPACE,
      members: [
        { entityId: person, role: 'admin', ordering: 'parallel' },
        { agentId: ids.agent, role: 'member', ordering: 'parallel' },
      ],
    });
    const say = async () => {
      const message = { id: newId(), role: 'user', content: { text: 'go' }, sender: person, metadata: {} };
      const item = { project: ids.project, space, message, mentions: [], starts: true, agents };
      const { rows } = await db.pool.query('select troupe.post_to_space($1::jsonb) as answer', [
        JSON.stringify(item),
      ]);
      const { ok, code, runs } = rows[0].answer;
      if (!ok) return expect(code).toBe('space_not_found');
      posted++;
      // What becomes of a run is told in its space, be that there or not. In every other round they are left to whoever deletes.
      if (round % 2 === 0) for (const { id } of runs) await kernel.cancel(id);
    };
    const comeAndGo = async () => {
      const member = { entityId: other.entity, role: 'member', ordering: 'parallel' } as const;
      try {
        await addMember(fixture, who, space, member);
        await removeMember(fixture, who, space, other.entity);
      } catch (error) {
        expect(error).toMatchObject({ code: 'not_found' });
      }
    };
    await say();
    await Promise.all([
      ...Array.from({ length: POSTS }, say),
      comeAndGo(),
      deleteSpace(fixture, who, space, { project: ids.project, kind: 'system', id: null }),
    ]);
    const { rows } = await db.pool.query(
      `select (select count(*) from troupe.threads where id = $1) + (select count(*) from troupe.messages where thread_id = $1)
        + (select count(*) from troupe.events where thread_id = $1) + (select count(*) from troupe.memberships where space_id = $1)
        + (select count(*) from troupe.spaces where id = $1) as left,
        (select count(*) from troupe.runs where space_id = $1 and status <> 'canceled') as open`,
      [space],
    );
    expect(rows).toEqual([{ left: 0, open: 0 }]);
  }
  expect(posted).toBeGreaterThan(ROUNDS);
  expect(await violations(db.pool)).toEqual([]);
});

test('a run that is taken up again while its space is being deleted is taken up, and tells nobody', async () => {
  const { db, kernel, ids } = fixture;
  const { project, agent, entity } = ids;
  const who = { project, entityId: null };
  const speaker = newId();
  await db.pool.query(`insert into troupe.entities (id, project_id, type) values ($1, $2, 'human')`, [
    speaker,
    project,
  ]);
  const members = [
    { entityId: speaker, role: 'member', ordering: 'parallel' } as const,
    { agentId: agent, role: 'member', ordering: 'parallel' } as const,
  ];
  const { id: space } = await createSpace(fixture, who, { ...SPACE, members });
  const item = {
    project,
    space,
    message: { id: newId(), role: 'user', content: { text: 'go' }, sender: speaker, metadata: {} },
    mentions: [],
    starts: true,
    agents: [{ agent, entity, snapshot: await fixture.snapshot(), wallMs: 60_000 }],
  };
  const { rows } = await db.pool.query('select troupe.post_to_space($1::jsonb) as answer', [
    JSON.stringify(item),
  ]);
  const run = rows[0].answer.runs[0].id as string;
  await kernel.cancel(run);
  const deleting = await db.pool.connect();
  try {
    await deleting.query('begin');
    const { rows } = await deleting.query(`select troupe.delete_space($1, $2, 'system', null) as answer`, [
      project,
      space,
    ]);
    expect(rows[0].answer).toEqual({ ok: true });
    const retrying = kernel.retry(run);
    await until('the retry waits', async () => {
      const waiting = await db.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.rows.length > 0;
    });
    await deleting.query('commit');
    expect(await retrying).toMatchObject({ ok: true });
  } finally {
    await deleting.query('rollback');
    deleting.release();
  }
  await kernel.cancel(run);
  const left = await db.pool.query('select from troupe.events where thread_id = $1', [space]);
  expect(left.rows).toEqual([]);
  expect(await violations(db.pool)).toEqual([]);
});
