import { newId } from '@troupe/server';
import { buildAgent, Stage, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { addMember, createSpace, deleteSpace, removeMember } from '../../src/doors/spaces/index.ts';

// A space that is deleted while people talk in it, members come and go, and its runs begin and end.

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open({ postgresUrl: inject('postgresUrl'), work: false });
});
afterAll(() => stage.close());

const ROUNDS = 12;
const POSTS = 6;

test('whatever happens at once: the space is gone, its runs have ended, and nobody is left with half of it', async () => {
  const { db, kernel, cast } = stage;
  const who = { project: cast.project, entityId: null };
  const other = await buildAgent(db, cast);
  const snapshot = await stage.snapshot();
  const person = newId();
  await db.pool.query(
    `insert into troupe.entities (id, project_id, type, external_id) values ($1, $2, 'human', 'ada')`,
    [person, cast.project],
  );
  const agents = [cast, other].map(({ agent, entity }) => ({ agent, entity, snapshot, wallMs: 60_000 }));
  let posted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { id: space } = await createSpace(stage, who, {
      name: null,
      description: null,
      policy: 'all',
      limits: { chainDepth: 8, agentRuns: 50 },
      metadata: {},
      members: [
        { entityId: person, role: 'admin', ordering: 'parallel' },
        { agentId: cast.agent, role: 'member', ordering: 'parallel' },
      ],
    });
    const say = async () => {
      const message = { id: newId(), role: 'user', content: { text: 'go' }, sender: person, metadata: {} };
      const item = { project: cast.project, space, message, mentions: [], starts: true, agents };
      const { rows } = await db.pool.query('select troupe.post_to_space($1::jsonb) as answer', [
        JSON.stringify(item),
      ]);
      const { ok, code, runs } = rows[0].answer;
      if (!ok) return expect(code).toBe('space_not_found');
      posted++;
      // What becomes of a run is told in its space, be that there or not.
      for (const { id } of runs) await kernel.cancel(id);
    };
    const comeAndGo = async () => {
      const member = { entityId: other.entity, role: 'member', ordering: 'parallel' } as const;
      try {
        await addMember(stage, who, space, member);
        await removeMember(stage, who, space, other.entity);
      } catch (error) {
        expect(error).toMatchObject({ code: 'not_found' });
      }
    };
    await say();
    await Promise.all([
      ...Array.from({ length: POSTS }, say),
      comeAndGo(),
      deleteSpace(stage, who, space, { project: cast.project, kind: 'system', id: null }),
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
