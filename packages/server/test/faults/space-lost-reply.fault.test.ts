import { until, violations } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { silentLogger } from '../../src/base/index.ts';
import { createSpacesDoor, spaceActs } from '../../src/doors/spaces/index.ts';
import { Kernel } from '../../src/kernel/index.ts';
import { createModels } from '../../src/models/registry.ts';
import { createScripted, type Turn } from '../../src/models/scripted/index.ts';
import { Database } from '../../src/store/index.ts';
import { createTools } from '../../src/tools/index.ts';
import { SpaceFixture } from '../spaces/fixture.ts';
import { call, calls, end } from '../spaces/scripted-agents.ts';
import { openProxy } from './proxy.ts';

test('what a run said is said once, and told as said, where the answer of the database was lost', async () => {
  const fixture = await SpaceFixture.open([], { works: false });
  const proxy = await openProxy(inject('postgresUrl'));
  const db = new Database({
    url: proxy.via(fixture.server.databaseUrl),
    applicationName: 'troupe/space-worker',
    logger: silentLogger,
  });
  const kernel = new Kernel({ db, logger: silentLogger });
  const turns: Turn[] = [
    calls(call('send_message', { text: 'One.' })),
    calls(call('send_message', { text: 'Two?', wait: { timeoutMs: 60_000 } })),
  ];
  const scripted = createScripted(({ step }) => turns[step - 1] ?? end);
  try {
    await kernel.work({
      doors: [createSpacesDoor(db)],
      models: createModels({ demo: scripted.provider }),
      tools: createTools({ ofDoors: spaceActs({ db, kernel }) }),
    });
    const [ann, ada] = [await fixture.person('Ann'), await fixture.agent('Ada', { replyWaiting: true })];
    const space = await fixture.space([ann, ada]);
    // The first of each two: what is sent again is answered.
    let n = 0;
    proxy.loseAnswersTo((text) => text.includes('post_to_space\0') && n++ % 2 === 0);
    const run = (await fixture.say(space, ann, 'Go on.')).runs[0]!.id;
    await until('it waits', async () => (await fixture.run(run)).status === 'waiting_reply');
    expect(proxy.lost).toBe(2);
    await fixture.say(space, ann, 'Yes.');
    expect((await fixture.ended(run)).status).toBe('completed');
    expect(await fixture.lines(space)).toEqual(['Ann: Go on.', 'Ada: One.', 'Ada: Two?', 'Ann: Yes.']);
    const { rows } = await fixture.server.db.pool.query(
      `select c.status, c.output->>'status' as told, c.attempt from troupe.tool_calls c order by c.step`,
    );
    expect(rows).toEqual([
      { status: 'completed', told: 'delivered', attempt: 1 },
      { status: 'completed', told: 'resolved', attempt: 1 },
    ]);
    const taken = await fixture.server.db.pool.query(
      'select takeovers_in_all as n from troupe.runs where id = $1',
      [run],
    );
    expect(taken.rows).toEqual([{ n: 0 }]);
    expect(await violations(fixture.server.db.pool)).toEqual([]);
  } finally {
    await kernel.close();
    await db.close();
    proxy.close();
    await fixture.close();
  }
});
