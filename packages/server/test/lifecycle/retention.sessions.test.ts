import type { PurgeKind } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { violations } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LifecycleFixture } from './fixture.ts';

let fixture: LifecycleFixture;
beforeAll(async () => {
  fixture = await LifecycleFixture.open();
});
afterEach(async () => {
  await fixture.troupe.retention.set({ body: {} });
  expect(await violations(fixture.db.pool)).toEqual([]);
});
afterAll(() => fixture.close());

const preview = async (kind: PurgeKind) =>
  (await fixture.troupe.retention.preview()).data.find((one) => one.kind === kind);
const exists = async (session: { id: string; agentId: string }) =>
  fixture.troupe.sessions.get({ params: { agentId: session.agentId, sessionId: session.id } }).then(
    () => true,
    (error: { status: number }) => {
      expect(error.status).toBe(404);
      return false;
    },
  );
const ofThread = (table: string, thread: string) => fixture.count(table, `thread_id = '${thread}'`);

describe('sessions', () => {
  test('deletes sessions after so many days without activity, and tells copies', async () => {
    const old = await fixture.session();
    const run = await fixture.say(old, 'use it');
    await fixture.age(8);
    const revived = await fixture.session();
    await fixture.say(revived, 'hello');
    await fixture.db.pool.query(
      `update troupe.sessions set created_at = now() - interval '9 days' where id = $1`,
      [revived.id],
    );
    await fixture.troupe.retention.set({ body: { sessions: { deleteAfterDays: 7 } } });
    expect(await preview('sessions')).toMatchObject({ count: 1, truncated: false });
    expect((await preview('sessions'))!.bytes).toBeGreaterThan(0);
    await fixture.retain();
    expect(await exists(old)).toBe(false);
    expect(await exists(revived)).toBe(true);
    for (const table of ['messages', 'event_batches', 'runs', 'files'])
      expect(await ofThread(table, old.threadId)).toBe(0);
    for (const table of ['run_steps', 'tool_calls', 'run_heads'])
      expect(await fixture.count(table, `run_id = '${run}'`)).toBe(0);
    expect(await fixture.count('tombstones', `collection = 'sessions' and id = '${old.id}'`)).toBe(1);
    expect(await fixture.count('tombstones', `collection = 'messages' and chat_id = '${old.id}'`)).toBe(4);
    expect(await preview('sessions')).toMatchObject({ count: 0, bytes: 0, oldest: null });
    await fixture.troupe.sessions.remove({ params: { agentId: revived.agentId, sessionId: revived.id } });
  });

  test('keeps a session while a run waits, and deletes it after the run has ended', async () => {
    const session = await fixture.session();
    const run = await fixture.say(session, 'wait');
    await fixture.age(30);
    await fixture.troupe.retention.set({ body: { sessions: { deleteAfterDays: 7 } } });
    expect(await preview('sessions')).toMatchObject({ count: 0 });
    await fixture.retain();
    expect(await exists(session)).toBe(true);
    await fixture.troupe.runs.cancel({ params: { runId: run } });
    await fixture.age(8);
    await fixture.retain();
    expect(await exists(session)).toBe(false);
  });

  test('keeps a session that a live fork was made of', async () => {
    const session = await fixture.session();
    const source = await fixture.say(session, 'wait');
    await fixture.troupe.runs.cancel({ params: { runId: source } });
    const fork = await fixture.troupe.runs.fork({ params: { runId: source }, body: { step: 0 } });
    await fixture.age(30);
    await fixture.troupe.retention.set({ body: { sessions: { deleteAfterDays: 7 } } });
    await fixture.retain();
    expect(await exists(session)).toBe(true);
    await fixture.troupe.runs.cancel({ params: { runId: fork.id } });
    await fixture.retain();
    expect(await exists(session)).toBe(false);
  });

  test('deletes sessions when they expire', async () => {
    const past = new Date(Date.now() - 1_000).toISOString();
    const expired = await fixture.session({ expiresAt: past });
    await fixture.say(expired, 'hello');
    const later = await fixture.session({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const cleared = await fixture.session({ expiresAt: past });
    expect(expired.expiresAt).toBe(past);
    const params = { agentId: cleared.agentId, sessionId: cleared.id };
    expect(await fixture.troupe.sessions.update({ params, body: { expiresAt: null } })).toMatchObject({
      expiresAt: null,
    });
    expect(await preview('expiredSessions')).toMatchObject({ count: 1 });
    await fixture.retain();
    expect([await exists(expired), await exists(later), await exists(cleared)]).toEqual([false, true, true]);
  });

  test('applies the shorter time of agent and project', async () => {
    const other = await fixture.troupe.agents.create({ body: { name: `Other ${newId()}` } });
    const strict = await fixture.session({}, other.id);
    const lax = await fixture.session();
    await fixture.age(5);
    await fixture.troupe.retention.set({ body: { sessions: { deleteAfterDays: 7 } } });
    const rules = { sessions: { deleteAfterDays: 3 } };
    await fixture.troupe.retention.setForAgent({ params: { agentId: other.id }, body: rules });
    expect(await fixture.troupe.retention.get()).toEqual({
      project: { sessions: { deleteAfterDays: 7 } },
      agents: [{ agentId: other.id, rules }],
    });
    await fixture.retain();
    expect([await exists(strict), await exists(lax)]).toEqual([false, true]);
    await fixture.troupe.retention.setForAgent({
      params: { agentId: other.id },
      body: { sessions: { deleteAfterDays: 100 } },
    });
    const longer = await fixture.session({}, other.id);
    await fixture.age(8);
    await fixture.retain();
    expect(await exists(longer)).toBe(false);
    await fixture.troupe.retention.setForAgent({ params: { agentId: other.id }, body: {} });
    expect((await fixture.troupe.retention.get()).agents).toEqual([]);
  });

  test('deletes the content of a long session in batches that resume', async () => {
    const session = await fixture.session();
    await fixture.db.pool.query(
      `with grown as (update troupe.threads set last_message_seq = 6000 where id = $1)
        insert into troupe.messages (thread_id, seq, id, role, content) select $1, n, gen_random_uuid(), 'user', '{"text": "x"}' from generate_series(1, 6000) n`,
      [session.threadId],
    );
    await fixture.age(8);
    await fixture.troupe.retention.set({ body: { sessions: { deleteAfterDays: 7 } } });
    await fixture.retain();
    expect(await fixture.count('deleted_threads')).toBe(0);
    expect(await ofThread('messages', session.threadId)).toBe(0);
    expect(await fixture.count('threads', `id = '${session.threadId}'`)).toBe(0);
    expect(await fixture.count('tombstones', `collection = 'messages' and chat_id = '${session.id}'`)).toBe(
      6_000,
    );
  });
});
