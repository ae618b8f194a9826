import type { BusyPolicy } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { buildProject, isLong, until, violations } from '@troupe/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { createSession, postMessage } from '../../src/doors/sessions/index.ts';
import { gate } from '../kernel/fixture.ts';
import { SessionFixture } from './session-fixture.ts';

const POLICIES: BusyPolicy[] = ['queue', 'steer', 'interrupt', 'reject'];

let fixture: SessionFixture;
afterEach(() => fixture.close());

function open(apart: boolean): Promise<SessionFixture> {
  return SessionFixture.open({
    apart,
    script: ({ step }) => (step === 1 ? { calls: [{ name: 'echo', arguments: {} }] } : { text: 'Done.' }),
    tools: { echo: () => 'x' },
    toolList: [{ name: 'echo' }],
  });
}

describe('a session that is deleted while others use it', () => {
  for (const apart of [false, true]) {
    it(`leaves nothing behind and breaks nothing, ${apart ? 'serve and work apart' : 'in one process'}`, async () => {
      fixture = await open(apart);
      const seen = new Set<string>();
      await Promise.all(
        Array.from({ length: 12 }, async (_, place) => {
          const session = await fixture.create();
          const path = `${fixture.sessions}/${session.id}`;
          const posts = Array.from({ length: 6 }, async (_, index) => {
            const policy = POLICIES[(place + index) % 4];
            const { status } = await fixture.ask('POST', `${path}/messages`, {
              content: { text: 'go' },
              policy,
            });
            seen.add(`post ${status}`);
            if (index !== place % 6) return;
            const deleted = await Promise.all([fixture.ask('DELETE', path), fixture.ask('DELETE', path)]);
            for (const answer of deleted) seen.add(`delete ${answer.status}`);
          });
          await Promise.all(posts);
          expect((await fixture.ask('GET', path)).status).toBe(404);
        }),
      );
      expect([...seen].filter((one) => !/^(post (201|404|409)|delete (204|404))$/.test(one))).toEqual([]);
      expect(seen).toContain('delete 204');
      expect(await violations(fixture.db.pool)).toEqual([]);
      const { rows } = await fixture.db.pool.query(
        `select (select count(*) from troupe.sessions) as sessions, (select count(*) from troupe.threads) as threads,
          (select count(*) from troupe.runs) as runs, (select count(*) from troupe.messages) as messages,
          (select count(*) from troupe.events) as events, (select count(*) from troupe.run_heads) as heads,
          (select count(*) from troupe.run_steps) as steps, (select count(*) from troupe.tool_calls) as calls`,
      );
      expect(rows).toEqual([
        { sessions: 0, threads: 0, runs: 0, messages: 0, events: 0, heads: 0, steps: 0, calls: 0 },
      ]);
      // Whoever worked on what is gone is free again.
      const session = await fixture.create();
      const { run } = await fixture.say(session, 'go');
      expect((await fixture.kernel.ended(run!.id)).status).toBe('completed');
    });
  }
});

describe('many messages at once', () => {
  it('are all answered, each once, in the order of their numbers', async () => {
    fixture = await SessionFixture.open({
      script: ({ messages }) => ({ text: `re: ${(messages.at(-1) as { text: string }).text}` }),
    });
    const session = await fixture.create();
    const posted = await Promise.all(
      Array.from({ length: 20 }, (_, index) => fixture.say(session, `message ${index}`)),
    );
    await Promise.all(posted.map(({ run }) => fixture.kernel.ended(run!.id)));
    const messages = await fixture.messages(session);
    const texts = (role: string) =>
      messages.filter((one) => one.role === role).map(({ content }) => (content as { text: string }).text);
    expect(texts('user')).toHaveLength(20);
    expect(texts('assistant')).toEqual(texts('user').map((text) => `re: ${text}`));
    expect(await violations(fixture.db.pool)).toEqual([]);
  });
});

describe('one message id for two sessions at the same moment', () => {
  for (const apart of [false, true]) {
    it(`is one's, and tells the others nothing, ${apart ? 'serve and work apart' : 'in one process'}`, async () => {
      fixture = await open(apart);
      // Three sessions of this project, one of another.
      const other = await buildProject(fixture.db);
      const scopes = [fixture.ids, fixture.ids, fixture.ids, other].map((ids) => ({
        who: { project: ids.project, entityId: null },
        agentId: ids.agent,
      }));
      const opening = { title: null, tags: [], modelId: null, policy: 'queue' as const, metadata: {} };
      const rooms = await Promise.all(
        scopes.map(async ({ who, agentId }) => {
          const { id: sessionId, threadId } = await createSession(fixture, who, agentId, opening);
          return { who, address: { agentId, sessionId }, threadId };
        }),
      );
      for (let round = 0; round < (isLong ? 20 : 8); round++) {
        const id = newId();
        const answers = await Promise.all(
          rooms.map(({ who, address }, place) =>
            postMessage(fixture, who, address, {
              id,
              content: { text: `secret ${place}` },
              policy: POLICIES[(round + place * (1 + (round % 3))) % 3],
              metadata: {},
            }).then(
              (posted) => ({ posted, refusal: null }),
              (refusal) => ({ posted: null, refusal }),
            ),
          ),
        );
        const winners = answers.flatMap(({ posted }, place) => (posted ? [place] : []));
        expect(winners).toHaveLength(1);
        const [winner] = winners as [number];
        expect(answers[winner]!.posted).toMatchObject({
          message: { id, threadId: rooms[winner]!.threadId, content: { text: `secret ${winner}` } },
        });
        for (const { refusal } of answers.filter(({ posted }) => !posted)) {
          expect(refusal).toMatchObject({ kind: 'conflict', code: 'message_id_taken' });
          const told = JSON.stringify([refusal.message, { ...refusal }]);
          for (const secret of ['secret', rooms[winner]!.threadId, answers[winner]!.posted!.run!.id])
            expect(told).not.toContain(secret);
        }
        const { rows } = await fixture.db.pool.query(
          `select m.thread_id, (select count(*)::int from troupe.runs r where r.trigger_message_id = m.id) as runs
            from troupe.messages m where m.id = $1`,
          [id],
        );
        expect(rows).toHaveLength(1);
        expect(rows[0].runs).toBeLessThanOrEqual(1);
        // Said again, to everybody: the same answer to the one, the same refusal to the others.
        for (const [place, { who, address }] of rooms.entries()) {
          const content = { text: `secret ${place}` };
          const again = postMessage(fixture, who, address, { id, content, metadata: {} });
          if (place === winner) expect((await again).message.content).toEqual({ text: `secret ${winner}` });
          else await expect(again).rejects.toMatchObject({ code: 'message_id_taken' });
        }
      }
      expect(await violations(fixture.db.pool)).toEqual([]);
    });
  }
});

describe('a steering message whose id another session stores first', () => {
  it('is refused as taken', async () => {
    const held = gate();
    fixture = await SessionFixture.open({
      script: async () => {
        await held.promise;
        return { text: 'Done.' };
      },
    });
    const [busy, other] = [await fixture.create(), await fixture.create()];
    const { run } = await fixture.say(busy, 'go');
    const id = newId();
    const client = await fixture.db.pool.connect();
    try {
      await client.query('begin');
      const thread = (
        await client.query(`select thread_id as id from troupe.sessions where id = $1`, [other.id])
      ).rows[0];
      await client.query(`select troupe.append($1, null, $2, '[]')`, [
        thread.id,
        JSON.stringify([{ id, role: 'user', content: { text: 'mine' } }]),
      ]);
      const pid = (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
      const posted = fixture.ask('POST', `${fixture.sessions}/${busy.id}/messages`, {
        id,
        content: { text: 'steer' },
        policy: 'steer',
      });
      const blocked = 'select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))';
      await until(
        'the post waits',
        async () => (await fixture.db.pool.query(blocked, [pid])).rows.length > 0,
      );
      await client.query('commit');
      expect(await posted).toMatchObject({ status: 409, body: { code: 'message_id_taken' } });
    } finally {
      client.release();
      held.resolve();
    }
    await fixture.kernel.ended(run!.id);
    expect((await fixture.messages(busy)).map(({ role }) => role)).toEqual(['user', 'assistant']);
  });
});

describe('a message that was on its way when the run failed', () => {
  for (const policy of POLICIES) {
    it(`${policy}: is refused, and nothing of it is stored`, async () => {
      const failing = gate();
      const written = gate();
      const held: { run: string | null } = { run: null };
      let waiting = false;
      let broken = true;
      fixture = await SessionFixture.open({
        script: async ({ messages }) => {
          await failing.promise;
          if (broken) return { error: { code: 'down', message: 'Down.', retryable: false } };
          const said = messages.flatMap((one) => (one.role === 'user' ? [one.text] : []));
          return { text: `re: ${said.join('+')}` };
        },
        probe: async (boundary, when, [run]) => {
          if (boundary !== 'start' || when !== 'before') return;
          held.run ??= run!;
          if (run === held.run || waiting) return;
          waiting = true;
          await written.promise;
        },
      });
      const session = await fixture.create();
      await fixture.say(session, 'first');
      // Another connection stands where posts that look at the active run pass by.
      const client = await fixture.db.pool.connect();
      await client.query('begin');
      await client.query(`select pg_advisory_xact_lock(hashtextextended('troupe.post:' || $1::text, 0))`, [
        session.threadId,
      ]);
      const path = `${fixture.sessions}/${session.id}`;
      const second = fixture.refused('POST', `${path}/messages`, { content: { text: 'second' }, policy });
      await until('the second is on its way', async () => {
        const { rows } = await fixture.db.pool.query(
          `select from pg_locks l join pg_stat_activity a on a.pid = l.pid
            where a.datname = current_database() and l.locktype = 'advisory' and not l.granted`,
        );
        return waiting || rows.length > 0;
      });
      failing.resolve();
      await fixture.becomes(session, 'failed');
      written.resolve();
      await client.query('commit');
      client.release();
      expect(await second).toEqual([409, 'session_failed']);
      expect(await fixture.lines(session)).toEqual(['user: first']);
      broken = false;
      await fixture.done('POST', `${path}/retry`);
      await fixture.becomes(session, 'pending');
      await fixture.say(session, 'third', { policy });
      await until('answered', async () => (await fixture.messages(session)).length === 4);
      expect(await fixture.lines(session)).toEqual([
        'user: first',
        'assistant: re: first',
        'user: third',
        'assistant: re: first+third',
      ]);
      expect(await violations(fixture.db.pool)).toEqual([]);
    });
  }

  it('at no particular moment: it comes before the failure or is refused, and is answered once', async () => {
    const broken = new Set<string>();
    fixture = await SessionFixture.open({
      script: async ({ messages }) => {
        const said = messages.flatMap((one) => (one.role === 'user' ? [one.text] : []));
        if (broken.has(said[0]!)) return { error: { code: 'down', message: 'Down.', retryable: false } };
        return {
          text: `re: ${said.slice(messages.findLastIndex((one) => one.role === 'assistant') + 1).join('+')}`,
        };
      },
    });
    const seen = new Set<string>();
    await Promise.all(
      Array.from({ length: 40 }, async (_, place) => {
        const policy = POLICIES[place % 4]!;
        const name = `first ${place}`;
        broken.add(name);
        const session = await fixture.create();
        const path = `${fixture.sessions}/${session.id}`;
        await fixture.say(session, name);
        const [status, code] = await fixture.refused('POST', `${path}/messages`, {
          content: { text: 'second' },
          policy,
        });
        seen.add(`${policy} ${status} ${code ?? ''}`.trim());
        await fixture.becomes(session, 'failed');
        broken.delete(name);
        const stored = (await fixture.messages(session)).length;
        expect(stored).toBe(status === 201 ? 2 : 1);
        await fixture.done('POST', `${path}/retry`);
        await fixture.becomes(session, 'pending');
        const answers = (await fixture.lines(session)).filter((line) => line.startsWith('assistant'));
        expect(answers).toEqual([`assistant: re: ${status === 201 ? `${name}+second` : name}`]);
      }),
    );
    const outcomes = POLICIES.flatMap((policy) => [`${policy} 201`, `${policy} 409 session_failed`]);
    for (const one of seen) expect([...outcomes, 'reject 409 session_busy']).toContain(one);
    expect(await violations(fixture.db.pool)).toEqual([]);
  });
});
