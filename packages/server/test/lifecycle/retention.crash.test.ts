import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '@troupe/testing';
import { expect, test } from 'vitest';
import { LifecycleFixture } from './fixture.ts';

const SCRIPT = fileURLToPath(new URL('retention-process.ts', import.meta.url));

async function purging(url: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [SCRIPT, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  return child;
}

test('two processes purge at once, are killed at any moment, and leave nothing half done', async () => {
  const fixture = await LifecycleFixture.open();
  try {
    const session = await fixture.session();
    await fixture.say(session, 'use it');
    const waiting = await fixture.session();
    await fixture.say(waiting, 'wait');
    const { troupe, db } = fixture;
    const sessions = 400;
    await db.pool.query(
      `create table copied as select n, gen_random_uuid() as thread, gen_random_uuid() as run from generate_series(1, ${sessions}) n;
      insert into troupe.threads (id, project_id, kind, last_message_seq) select thread, '${fixture.project}', 'session', 3 from copied;
      insert into troupe.sessions (id, project_id, agent_id, entity_id, thread_id) select gen_random_uuid(), s.project_id, s.agent_id, s.entity_id, c.thread from copied c, troupe.sessions s where s.id = '${session.id}';
      insert into troupe.messages (thread_id, seq, id, role, content) select thread, m, gen_random_uuid(), 'user', '{"text": "x"}' from copied, generate_series(1, 3) m;
      insert into troupe.runs (id, project_id, door, agent_id, entity_id, snapshot_id, thread_id, root_run_id, trigger_type, status, wall_ms, input_tokens, completed_at)
        select c.run, r.project_id, r.door, r.agent_id, r.entity_id, r.snapshot_id, c.thread, c.run, 'message', 'completed', 1000, 7, now() from copied c, troupe.runs r where r.thread_id = '${session.threadId}'`,
    );
    await fixture.age(10);
    const left = () => fixture.count('sessions');
    const all = await left();
    const sum = async () => {
      const { rows } = await db.pool.query(
        `select ((select coalesce(sum(input_tokens), 0) from troupe.runs) + (select coalesce(sum(input_tokens), 0) from troupe.usage_purged where model is null))::int as n`,
      );
      return rows[0].n;
    };
    const used = await sum();
    await troupe.retention.set({ body: { sessions: { deleteAfterDays: 7 } } });
    let kills = 0;
    for (let before = all; before > 1; ) {
      const children = await Promise.all([
        purging(fixture.server.databaseUrl),
        purging(fixture.server.databaseUrl),
      ]);
      try {
        // Killed while there is more to do: after the next sessions are gone.
        await until('some sessions are gone', async () => (await left()) < before);
      } finally {
        for (const child of children) {
          child.kill('SIGKILL');
          await once(child, 'exit');
        }
      }
      kills++;
      before = await left();
      expect(await sum()).toBe(used);
      // A session is there with all of its messages, or not at all.
      const { rows } = await db.pool.query(
        `select t.id from troupe.threads t left join troupe.messages m on m.thread_id = t.id where t.kind = 'session' group by t.id having count(m.id) <> t.last_message_seq`,
      );
      expect(rows).toEqual([]);
    }
    expect(kills).toBeGreaterThan(1);
    // The one that waits is left alone.
    expect(
      await troupe.sessions.get({ params: { agentId: waiting.agentId, sessionId: waiting.id } }),
    ).toMatchObject({
      status: 'waiting',
    });
    expect(await fixture.count('messages', `thread_id in (select thread from copied)`)).toBe(0);
    expect(await fixture.count('tombstones', `collection = 'sessions'`)).toBe(all - 1);
  } finally {
    await fixture.close();
  }
});
