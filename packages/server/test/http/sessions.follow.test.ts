import {
  type BusyPolicy,
  type Event,
  followStatus,
  type Run,
  type Session,
  type SessionStatus,
  UNFOLLOWED,
} from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SessionFixture } from './session-fixture.ts';

const POLICIES: BusyPolicy[] = ['queue', 'steer', 'interrupt', 'reject'];
const AT_REST: Record<string, SessionStatus> = {
  'session.completed': 'pending',
  'session.canceled': 'pending',
  'session.failed': 'failed',
};

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await SessionFixture.open({
    // The last message says what happens.
    script: ({ messages }) => {
      const last = messages.findLast((one) => one.role === 'user')!.text;
      if (last === 'fail') return { error: { code: 'down', message: 'Down.', retryable: false } };
      if (last === 'stall') return { stallForever: true };
      const asked = messages.at(-1)!.role === 'tool';
      return last === 'ask' && !asked ? { calls: [{ name: 'ask', arguments: {} }] } : { text: 'Done.' };
    },
    toolList: [{ name: 'ask', provider: 'client', waitsFor: 'client' }],
  });
  await witness();
});
afterAll(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

/** At the end of every transaction that changes a run or tells of something: how far the log is, and what the session does. */
async function witness(): Promise<void> {
  await fixture.db.pool.query(`create table public.witnessed (thread uuid, seq bigint, status text)`);
  await fixture.db.pool.query(`create function public.witness() returns trigger language plpgsql as $$ begin
    insert into public.witnessed select t.id, t.last_event_seq, case when a.status in ('queued', 'running') then 'running'
        when a.status is not null then 'waiting'
        when exists (select from troupe.runs q where q.thread_id = t.id and q.status = 'queued' and not q.ready) then 'running'
        when t.failed_run_id is not null then 'failed' else 'pending' end
      from troupe.threads t left join troupe.runs a on a.id = t.active_run_id where t.id = new.thread_id;
    return null; end $$`);
  for (const [name, what] of [
    ['events', 'insert on troupe.event_batches'],
    ['runs', 'insert or update on troupe.runs'],
  ])
    await fixture.db.pool.query(
      `create constraint trigger witness_${name} after ${what} deferrable initially deferred for each row execute function public.witness()`,
    );
}

async function eventsOf(session: Session): Promise<Event[]> {
  const all: Event[] = [];
  for (;;) {
    const path = `${fixture.sessions}/${session.id}/events?limit=1000&after=${all.length}`;
    const { data } = await fixture.done<{ data: Event[] }>('GET', path);
    all.push(...data);
    if (data.length < 1000) return all;
  }
}

/** What the events say after each of them. */
function followed(events: Event[]): SessionStatus[] {
  let known = UNFOLLOWED;
  const statuses = [known.status];
  for (const event of events) {
    known = followStatus(known, event);
    statuses.push(known.status);
  }
  return statuses;
}

/** The same numbers every time. */
function dice(seed: number) {
  let state = seed;
  return (sides: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

async function act(session: Session, roll: (sides: number) => number): Promise<void> {
  const path = `${fixture.sessions}/${session.id}`;
  const which = roll(12);
  if (which < 6) {
    const text = ['fail', 'stall', 'ask', 'talk', 'talk'][roll(5)]!;
    await fixture.ask('POST', `${path}/messages`, { content: { text }, policy: POLICIES[roll(4)] });
  } else if (which < 7) await fixture.ask('POST', `${path}/cancel`);
  else if (which < 9) await fixture.ask('POST', `${path}/retry`);
  else if (which < 10) await settle(session);
  else {
    const { data } = await fixture.done<{ data: Run[] }>('GET', `/v1/runs?sessionId=${session.id}`);
    const run = data[roll(Math.min(3, data.length))];
    if (run) await fixture.ask('POST', `/v1/runs/${run.id}/${which < 11 ? 'cancel' : 'retry'}`);
  }
}

async function settle(session: Session): Promise<void> {
  const { rows } = await fixture.db.pool.query<{ run: string; call: string }>(
    `select c.run_id as run, c.call_id as call from troupe.tool_calls c join troupe.runs r on r.id = c.run_id
      where r.thread_id = $1 and c.waits_for is not null`,
    [session.threadId],
  );
  for (const { run, call } of rows)
    await fixture.kernel.settle(run, call, { status: 'completed', output: 'ok' });
}

describe('what a session does can be followed from its events', () => {
  it('at every commit, whatever is done to it and in whatever order', async () => {
    const sessions = await Promise.all(Array.from({ length: 4 }, () => fixture.create()));
    const seen = new Set<SessionStatus>();
    await Promise.all(
      sessions.map(async (session, place) => {
        const roll = dice(place + 1);
        for (let round = 0; round < 20; round++) {
          await Promise.all(Array.from({ length: 1 + roll(3) }, () => act(session, roll)));
          // What reading says lies between what two lists of the events say.
          const before = await eventsOf(session);
          const { status } = await fixture.get(session);
          const after = await eventsOf(session);
          expect(followed(after).slice(before.length)).toContain(status);
        }
        await until('it is at rest', async () => {
          await settle(session);
          const { status } = await fixture.get(session);
          if (status === 'running') await fixture.ask('POST', `${fixture.sessions}/${session.id}/cancel`);
          return status === 'pending' || status === 'failed';
        });
        const events = await eventsOf(session);
        const statuses = followed(events);
        const { rows } = await fixture.db.pool.query<{ seq: number; status: SessionStatus }>(
          'select seq, status from public.witnessed where thread = $1',
          [session.threadId],
        );
        for (const { seq, status } of rows) {
          seen.add(status);
          const told = `${seq}: ${statuses[seq]}`;
          expect(
            told,
            events
              .slice(0, seq)
              .map(({ type }) => type)
              .join(' '),
          ).toBe(`${seq}: ${status}`);
        }
        // Whoever asks for session.* alone knows how it ended.
        const last = events.findLast(({ type }) => type.startsWith('session.'));
        expect(last ? AT_REST[last.type] : 'pending').toBe((await fixture.get(session)).status);
        const path = `${fixture.sessions}/${session.id}`;
        expect((await fixture.ask('DELETE', path)).status).toBe(204);
        expect(await fixture.refused('GET', path)).toEqual([404, 'not_found']);
        expect(await fixture.refused('GET', `${path}/events`)).toEqual([404, 'not_found']);
      }),
    );
    expect(seen).toEqual(new Set(['pending', 'running', 'waiting', 'failed']));
  });

  it('when it is stopped, and when it is taken up again', async () => {
    const types = async (session: Session) =>
      (await eventsOf(session)).map(({ type }) => type).filter((type) => /^(session|run)\./.test(type));
    const stopped = await fixture.create();
    await fixture.say(stopped, 'stall');
    await fixture.say(stopped, 'talk');
    await fixture.done('POST', `${fixture.sessions}/${stopped.id}/cancel`);
    // One that had not begun ends nothing but itself.
    expect((await types(stopped)).slice(-3)).toEqual(['run.canceled', 'session.canceled', 'run.canceled']);

    const failed = await fixture.create();
    await fixture.say(failed, 'fail');
    await fixture.becomes(failed, 'failed');
    const before = (await types(failed)).length;
    await fixture.done('POST', `${fixture.sessions}/${failed.id}/retry`);
    await until('failed again', async () => (await types(failed)).length === before + 5);
    expect((await types(failed)).slice(before)).toEqual([
      ...['run.queued', 'run.resumed', 'session.started', 'session.failed', 'run.failed'],
    ]);
  });

  it('when one fails with another behind it: that one goes on, and how it ends is how the session ends', async () => {
    const session = await fixture.create();
    await fixture.say(session, 'stall');
    await fixture.say(session, 'fail');
    await fixture.say(session, 'talk');
    const { data } = await fixture.done<{ data: Run[] }>('GET', `/v1/runs?sessionId=${session.id}`);
    await fixture.done('POST', `/v1/runs/${data[2]!.id}/cancel`);
    await fixture.becomes(session, 'pending');
    const runs = await fixture.done<{ data: Run[] }>('GET', `/v1/runs?sessionId=${session.id}`);
    expect(runs.data.map(({ status }) => status)).toEqual(['completed', 'failed', 'canceled']);

    // One that was canceled while it waited for its turn does not hide that the one before it failed.
    const other = await fixture.create();
    await fixture.say(other, 'ask');
    const { run } = await fixture.say(other, 'talk');
    await fixture.becomes(other, 'waiting');
    await fixture.done('POST', `/v1/runs/${run!.id}/cancel`);
    await fixture.say(other, 'fail', { policy: 'steer' });
    await settle(other);
    expect((await fixture.becomes(other, 'failed')).finishedAt).not.toBeNull();
    const again = { content: { text: 'talk' } };
    expect(await fixture.refused('POST', `${fixture.sessions}/${other.id}/messages`, again)).toEqual([
      ...[409, 'session_failed'],
    ]);
  });
});
