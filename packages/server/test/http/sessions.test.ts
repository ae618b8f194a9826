import type { Event, Message, PostedMessage, Problem, Run, Session } from '@troupe/protocol';
import { message, run as runSchema, session as sessionSchema } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { until, violations } from '@troupe/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { gate } from '../kernel/fixture.ts';
import { SessionFixture } from './session-fixture.ts';

// Long because it is what a person sees of a session, from the first message to its deletion, in one place.

let fixture: SessionFixture;
afterEach(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

describe('a conversation', () => {
  it('answers how much 2+2 is: messages, statuses and events in their order', async () => {
    const asked = gate();
    const [speaking, spoken] = [gate(), gate()];
    // It is held where it is asked, and again in the middle of its answer: there one can look.
    fixture = await SessionFixture.open({
      demo: (demo) => ({
        ...demo,
        generate: async (request, io) => {
          await asked.promise;
          const answer = await demo.generate(request, io);
          speaking.resolve();
          await spoken.promise;
          return answer;
        },
      }),
    });
    const created = await fixture.create();
    const told = async () => {
      const { data } = await fixture.done<{ data: Event[] }>(
        'GET',
        `${fixture.sessions}/${created.id}/events`,
      );
      return data.map(({ sequence, type, runId }) => [sequence, type, runId ?? null]);
    };
    expect(sessionSchema.parse(created)).toEqual(created);
    expect(created).toMatchObject({ status: 'pending', title: null, startedAt: null, finishedAt: null });
    expect([created.error, created.lastActivityAt]).toEqual([null, created.createdAt]);
    expect(await fixture.get(created)).toEqual(created);
    expect([await fixture.messages(created), await told()]).toEqual([[], []]);

    const posted = await fixture.say(created, 'How much is 2+2?');
    expect(posted).toMatchObject({
      sessionId: created.id,
      sequence: 1,
      role: 'user',
      content: { text: 'How much is 2+2?' },
      senderId: created.entityId,
      metadata: {},
      run: { outcome: 'started' },
    });
    const run = posted.run!.id;
    const begun = [
      [1, 'message.created', run],
      [2, 'run.queued', run],
      [3, 'run.started', run],
      [4, 'session.started', run],
      [5, 'step.started', run],
    ];
    const running = { status: 'running', startedAt: expect.any(String), finishedAt: null };
    await until('the step is told of', async () => (await told()).length >= begun.length);
    for (const [open, reached] of [
      [asked, speaking.promise],
      [spoken, null],
    ] as const) {
      // Before the model speaks and while it does: the session runs, and there is no answer yet.
      expect(await fixture.get(created)).toMatchObject(running);
      expect((await fixture.messages(created)).map(({ role }) => role)).toEqual(['user']);
      expect(await told()).toEqual(begun);
      open.resolve();
      await reached;
    }

    const after = await fixture.becomes(created, 'pending');
    expect(after).toMatchObject({
      title: 'How much is 2+2?',
      startedAt: expect.any(String),
      finishedAt: null,
    });
    const messages = await fixture.messages(created);
    for (const one of messages) expect(message.parse(one)).toEqual(one);
    expect(messages.map(({ sequence, role }) => [sequence, role])).toEqual([
      [1, 'user'],
      [2, 'assistant'],
    ]);
    expect((messages[1]!.content as { text: string }).text).toContain('4');
    expect(messages.map(({ runId }) => runId)).toEqual([run, run]);
    expect(await told()).toEqual([
      ...begun,
      [6, 'step.generated', run],
      [7, 'message.created', run],
      [8, 'session.completed', run],
      [9, 'run.completed', run],
    ]);
    const events = `${fixture.sessions}/${created.id}/events`;
    const { data } = await fixture.done<{ data: { createdAt: string }[] }>('GET', events);
    expect((await fixture.get(created)).lastActivityAt).toBe(data.at(-1)!.createdAt);
    expect(data.at(-1)!.createdAt > created.createdAt).toBe(true);
    // And again: the session goes round.
    await fixture.say(created, 'How much is 3*5?');
    await until('both answered', async () => (await fixture.messages(created)).length === 4);
    expect((await fixture.lines(created))[3]).toContain('15');
  });

  it('runs while it answers and waits for whoever must act', async () => {
    const thinking = gate();
    fixture = await SessionFixture.open({
      script: (request) =>
        request.step === 1
          ? { gate: thinking.promise, calls: [{ id: 'c1', name: 'ask', arguments: {} }] }
          : { text: 'Thanks.' },
      toolList: [{ name: 'ask', provider: 'client', waitsFor: 'client' }],
    });
    const session = await fixture.create();
    const { run } = await fixture.say(session, 'Hello');
    expect((await fixture.get(session)).status).toBe('running');
    thinking.resolve();
    await fixture.becomes(session, 'waiting');
    await fixture.kernel.settle(run!.id, 'c1', { status: 'completed', output: 'here' });
    await fixture.becomes(session, 'pending');
    expect((await fixture.messages(session)).map(({ role }) => role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
    const details = await fixture.done<Run & { steps: unknown[]; calls: object[] }>(
      'GET',
      `/v1/runs/${run!.id}`,
    );
    expect(runSchema.parse(details)).toMatchObject({ sessionId: session.id, status: 'completed', step: 2 });
    expect(details.steps).toHaveLength(2);
    expect(details.calls).toMatchObject([{ id: 'c1', tool: 'ask', status: 'completed', output: 'here' }]);
  });

  it('stores a message once, however often it is sent', async () => {
    fixture = await SessionFixture.open();
    const [session, other] = [await fixture.create(), await fixture.create()];
    const id = newId().toUpperCase();
    const answers = await Promise.all([1, 2, 3].map(() => fixture.say(session, 'Hello', { id })));
    await fixture.becomes(session, 'pending');
    const again = await fixture.say(session, 'Hello', { id });
    expect(new Set([...answers, again].map(({ run }) => run!.id)).size).toBe(1);
    expect(again).toMatchObject({ id: id.toLowerCase(), sequence: 1, run: { outcome: 'duplicate' } });
    expect(await fixture.messages(session)).toHaveLength(2);
    const path = `${fixture.sessions}/${other.id}/messages`;
    expect(await fixture.refused('POST', path, { id, content: { text: 'Hi' } })).toEqual([
      409,
      'message_id_taken',
    ]);
    expect(await fixture.messages(other)).toEqual([]);
  });

  it('tells when a message was stored as it will always be told', async () => {
    const answering = gate();
    fixture = await SessionFixture.open({ script: () => ({ text: 'Yes.', gate: answering.promise }) });
    const session = await fixture.create();
    const posted = [await fixture.say(session, 'first')];
    for (const policy of ['queue', 'steer', 'interrupt'])
      posted.push(await fixture.say(session, policy, { policy }));
    answering.resolve();
    await fixture.becomes(session, 'pending');
    posted.push(await fixture.say(session, 'last'));
    const listed = new Map((await fixture.messages(session)).map(({ id, createdAt }) => [id, createdAt]));
    expect(posted.map(({ createdAt }) => createdAt)).toEqual(posted.map(({ id }) => listed.get(id)));
    expect(posted.map(({ run }) => run!.outcome)).toEqual([
      ...['started', 'queued', 'steered', 'interrupted', 'started'],
    ]);
    const { createdAt } = await fixture.say(session, 'first', { id: posted[0]!.id });
    expect(createdAt).toBe(posted[0]!.createdAt);
  });

  it('carries what a message asks for into the run, and shows the caller their own metadata only', async () => {
    fixture = await SessionFixture.open({ script: () => ({ text: 'ok' }) });
    const session = await fixture.create();
    const modelId = await fixture.createModel();
    const parts = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', url: 'https://example.com/a.png' },
    ];
    const posted = await fixture.done<PostedMessage>('POST', `${fixture.sessions}/${session.id}/messages`, {
      content: { text: 'What is this?', parts },
      reasoningEffort: 'high',
      policy: 'steer',
      modelId,
      metadata: { mine: [1, null], more: 'a' },
    });
    await fixture.becomes(session, 'pending');
    expect(fixture.scripted.requests[0]).toMatchObject({
      reasoningEffort: 'high',
      messages: [{ role: 'user', text: 'What is this?', parts }],
    });
    const [stored] = await fixture.messages(session);
    expect(stored).toMatchObject({
      content: { text: 'What is this?', parts },
      metadata: { mine: [1, null] },
    });
    expect(Object.keys(stored!.metadata)).toEqual(['mine', 'more']);
    expect(Object.keys(posted.metadata).toSorted()).toEqual(['mine', 'more']);
    const asked = { modelId, reasoningEffort: 'high', policy: 'steer' };
    expect([posted, stored]).toMatchObject([asked, asked]);
    // Nothing was asked for, whatever the metadata pretends.
    const forged = { 'troupe:asked': asked, 'troupe:run': newId() };
    const second = await fixture.say(session, 'And now?', { metadata: { ...forged, own: 1 } });
    await until('answered', () => fixture.scripted.requests.length === 2);
    expect(second).toMatchObject({ modelId: null, reasoningEffort: null, policy: null });
    const listed = (await fixture.messages(session)).find(({ id }) => id === second.id)!;
    expect({ ...listed, run: second.run }).toEqual(second);
    expect(listed.metadata).toEqual({ own: 1 });
    expect(message.parse(listed)).toEqual(listed);
    expect(fixture.scripted.requests[1]).not.toHaveProperty('reasoningEffort');
  });

  it('lists messages both ways', async () => {
    fixture = await SessionFixture.open({ script: () => ({ text: 'ok' }) });
    const session = await fixture.create();
    for (let turn = 1; turn <= 3; turn++) {
      await fixture.say(session, `turn ${turn}`);
      await fixture.becomes(session, 'pending');
    }
    const list = async (query: string) => {
      const path = `${fixture.sessions}/${session.id}/messages?${query}`;
      const { data, lastSequence } = await fixture.done<{ data: Message[]; lastSequence: number }>(
        'GET',
        path,
      );
      expect(lastSequence).toBe(6);
      return data.map(({ sequence }) => sequence);
    };
    expect(await list('limit=2')).toEqual([1, 2]);
    expect(await list('after=2&limit=2')).toEqual([3, 4]);
    expect(await list('before=6&limit=2')).toEqual([4, 5]);
    expect(await list('after=1&before=4')).toEqual([2, 3]);
  });
});

describe('a message', () => {
  it('is the same only with the same content: another one under its id is refused', async () => {
    fixture = await SessionFixture.open();
    const session = await fixture.create();
    const path = `${fixture.sessions}/${session.id}/messages`;
    const id = newId();
    expect((await fixture.ask('POST', path, { id, content: { text: 'once' } })).status).toBe(201);
    expect((await fixture.ask('POST', path, { id, content: { text: 'once' } })).status).toBe(201);
    const other = await fixture.ask('POST', path, { id, content: { text: 'another' } });
    expect(other).toMatchObject({ status: 409, body: { code: 'message_id_taken' } });
    await fixture.becomes(session, 'pending');
    expect((await fixture.messages(session)).filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('may say that a user says it, and nobody else', async () => {
    fixture = await SessionFixture.open();
    const session = await fixture.create();
    expect(await fixture.say(session, 'Hello', { role: 'user' })).toMatchObject({
      role: 'user',
      sequence: 1,
    });
    const path = `${fixture.sessions}/${session.id}/messages`;
    for (const role of ['assistant', 'system', null])
      expect((await fixture.ask('POST', path, { role, content: { text: 'Hi' } })).status).toBe(422);
    await fixture.becomes(session, 'pending');
    expect(await fixture.messages(session)).toHaveLength(2);
  });

  it('names the session in whole characters', async () => {
    fixture = await SessionFixture.open();
    const session = await fixture.create();
    await fixture.say(session, '🎭'.repeat(200));
    const { title } = await fixture.becomes(session, 'pending');
    expect(title).toBe(`${'🎭'.repeat(59)}…`);
  });
});

describe('a session', () => {
  it('is changed field by field, and null clears', async () => {
    fixture = await SessionFixture.open();
    const session = await fixture.create({
      title: 'Sums',
      tags: ['a'],
      policy: 'reject',
      metadata: { a: 1 },
    });
    expect(session).toMatchObject({ title: 'Sums', tags: ['a'], policy: 'reject', metadata: { a: 1 } });
    const path = `${fixture.sessions}/${session.id}`;
    expect(await fixture.done('PATCH', path, { tags: ['b', 'c'] })).toMatchObject({
      title: 'Sums',
      tags: ['b', 'c'],
    });
    expect(
      await fixture.done('PATCH', path, { title: null, metadata: {}, modelId: null, policy: 'queue' }),
    ).toMatchObject({
      title: null,
      tags: ['b', 'c'],
      metadata: {},
      modelId: null,
      policy: 'queue',
    });
    await fixture.done('PATCH', path, { metadata: { b: 2 } });
    expect(await fixture.done('PATCH', path, { tags: null, metadata: null })).toMatchObject({
      ...{ title: null, tags: [], metadata: {}, policy: 'queue' },
    });
    expect(await fixture.refused('PATCH', path, { policy: null })).toEqual([422, 'invalid_request']);
    await fixture.done('PATCH', path, { tags: ['b', 'c'] });
    expect(await fixture.refused('PATCH', path, { status: 'failed' })).toEqual([422, 'invalid_request']);
    expect(await fixture.refused('PATCH', path, { title: 'a\u0000b' })).toEqual([422, 'invalid_request']);
    expect(await fixture.refused('PATCH', path, { modelId: newId() })).toEqual([422, 'model_not_found']);
    expect(await fixture.refused('POST', fixture.sessions, { modelId: newId() })).toEqual([
      422,
      'model_not_found',
    ]);
    expect(await fixture.get(session)).toMatchObject({ title: null, tags: ['b', 'c'], policy: 'queue' });
  });

  it('is listed newest first, page by page, by status, tag and user', async () => {
    fixture = await SessionFixture.open({
      script: () => ({ error: { code: 'no', message: 'No.', retryable: false } }),
    });
    const made: Session[] = [];
    for (let i = 0; i < 5; i++) made.push(await fixture.create({ tags: [`t${i % 2}`], user: `u${i % 3}` }));
    const ids = (...places: number[]) => places.map((place) => made[place]!.id);
    const list = async (query: string) => {
      const page = await fixture.done<{ data: Session[]; nextCursor: string | null }>(
        'GET',
        `${fixture.sessions}?${query}`,
      );
      return { ids: page.data.map(({ id }) => id), next: page.nextCursor };
    };
    const first = await list('limit=2');
    expect(first.ids).toEqual(ids(4, 3));
    const second = await list(`limit=2&cursor=${first.next}`);
    expect(second.ids).toEqual(ids(2, 1));
    expect(await list(`limit=2&cursor=${second.next}`)).toEqual({ ids: ids(0), next: null });
    expect((await list('tag=t1')).ids).toEqual(ids(3, 1));
    expect((await list('user=u0')).ids).toEqual(ids(3, 0));
    expect((await list('user=nobody')).ids).toEqual([]);
    await fixture.say(made[1]!, 'Hello');
    await fixture.becomes(made[1]!, 'failed');
    expect((await list('status=failed')).ids).toEqual(ids(1));
    expect((await list('status=pending')).ids).toEqual(ids(4, 3, 2, 0));
    expect(await fixture.refused('GET', `${fixture.sessions}?cursor=abc`)).toEqual([422, 'invalid_request']);
    expect(await fixture.refused('GET', `/v1/agents/${newId()}/sessions`)).toEqual([404, 'not_found']);
  });

  it('belongs to a person, an agent and a project; for all others it is not there', async () => {
    fixture = await SessionFixture.open();
    const mine = await fixture.create({ user: 'me' });
    const theirs = await fixture.create({ user: 'them' });
    const posted = await fixture.say(mine, 'Hello');
    await fixture.becomes(mine, 'pending');
    const notThere = async (session: Session) => {
      const path = `${fixture.sessions}/${session.id}`;
      const said = { content: { text: 'Hi' } };
      return [
        await fixture.refused('GET', path),
        await fixture.refused('PATCH', path, { title: 'mine' }),
        await fixture.refused('DELETE', path),
        await fixture.refused('POST', `${path}/cancel`),
        await fixture.refused('POST', `${path}/retry`),
        await fixture.refused('POST', `${path}/fork`, { messageId: posted.id }),
        await fixture.refused('POST', `${path}/messages`, said),
        await fixture.refused('GET', `${path}/messages`),
        await fixture.refused('GET', `/v1/runs/${posted.run!.id}`),
        await fixture.refused('POST', `/v1/runs/${posted.run!.id}/cancel`),
        await fixture.refused('POST', `/v1/runs/${posted.run!.id}/retry`),
      ];
    };
    const nothing = Array.from({ length: 11 }, () => [404, 'not_found']);
    const owner = fixture.caller;
    fixture.caller = { ...owner, kind: 'user', entityId: theirs.entityId };
    expect(await notThere(mine)).toEqual(nothing);
    expect(await fixture.refused('POST', fixture.sessions, { user: 'me' })).toEqual([403, 'forbidden']);
    const listed = await fixture.done<{ data: Session[] }>('GET', fixture.sessions);
    expect(listed.data.map(({ id }) => id)).toEqual([theirs.id]);
    expect((await fixture.create()).entityId).toBe(theirs.entityId);
    fixture.caller = { ...owner, kind: 'user', entityId: mine.entityId };
    expect((await fixture.get(mine)).id).toBe(mine.id);
    expect((await fixture.done<Run>('GET', `/v1/runs/${posted.run!.id}`)).id).toBe(posted.run!.id);
    // Another project.
    const other = newId();
    await fixture.db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [other, 'other']);
    fixture.caller = { ...owner, project: other };
    expect(await notThere(mine)).toEqual(nothing);
    expect(await fixture.refused('POST', fixture.sessions, {})).toEqual([404, 'not_found']);
    expect((await fixture.done<{ data: Run[] }>('GET', '/v1/runs')).data).toEqual([]);
    fixture.caller = owner;
    // Below another agent.
    const path = `/v1/agents/${newId()}/sessions/${mine.id}`;
    expect(await fixture.refused('GET', path)).toEqual([404, 'not_found']);
    expect(await fixture.refused('POST', `${path}/messages`, { content: { text: 'Hi' } })).toEqual([
      404,
      'not_found',
    ]);
    expect(await fixture.messages(mine)).toHaveLength(2);
  });

  it('takes no new work from an archived agent', async () => {
    fixture = await SessionFixture.open();
    const session = await fixture.create();
    await fixture.db.pool.query(`update troupe.agents set status = 'archived' where id = $1`, [
      fixture.ids.agent,
    ]);
    expect(await fixture.refused('POST', fixture.sessions, {})).toEqual([409, 'agent_archived']);
    const path = `${fixture.sessions}/${session.id}/messages`;
    expect(await fixture.refused('POST', path, { content: { text: 'Hi' } })).toEqual([409, 'agent_archived']);
    expect(await fixture.refused('POST', path, { content: { text: ' ' } })).toEqual([422, 'invalid_request']);
    expect((await fixture.get(session)).status).toBe('pending');
  });
});

describe('stopping and going on', () => {
  it('fails, refuses messages, and is taken up again', async () => {
    let working = false;
    fixture = await SessionFixture.open({
      script: () =>
        working
          ? { text: 'Now it works.' }
          : { error: { code: 'broken', message: 'Broken.', retryable: false } },
    });
    const session = await fixture.create();
    const path = `${fixture.sessions}/${session.id}`;
    expect(await fixture.refused('POST', `${path}/retry`)).toEqual([409, 'not_failed']);
    const { run, id } = await fixture.say(session, 'Hello');
    const failed = await fixture.becomes(session, 'failed');
    expect(failed.finishedAt).not.toBeNull();
    expect(failed.error).toEqual({ code: 'broken', message: 'Broken.', runId: run!.id });
    expect((await fixture.events(session)).slice(-3)).toEqual(['step.error', 'session.failed', 'run.failed']);
    expect(await fixture.refused('POST', `${path}/messages`, { content: { text: 'Hi' } })).toEqual([
      409,
      'session_failed',
    ]);
    // Sending the same again is no new message.
    expect((await fixture.say(session, 'Hello', { id })).run).toEqual({ id: run!.id, outcome: 'duplicate' });
    working = true;
    expect(await fixture.done('POST', `${path}/retry`)).toMatchObject({ finishedAt: null, error: null });
    await fixture.becomes(session, 'pending');
    expect(await fixture.lines(session)).toEqual(['user: Hello', 'assistant: Now it works.']);
    expect(await fixture.refused('POST', `/v1/runs/${run!.id}/retry`)).toEqual([409, 'not_failed']);
    expect(await fixture.refused('POST', `/v1/runs/${run!.id}/cancel`)).toEqual([409, 'run_ended']);
  });

  it('takes up a run that failed while another waited behind it, after that one was answered', async () => {
    const answering = gate();
    let working = false;
    fixture = await SessionFixture.open({
      script: ({ messages }) => {
        if (messages.length > 1 || working) return { text: `heard ${messages.length}` };
        return { error: { code: 'broken', message: 'Broken.', retryable: false }, gate: answering.promise };
      },
    });
    const session = await fixture.create();
    const first = await fixture.say(session, 'one');
    expect((await fixture.say(session, 'two')).run!.outcome).toBe('queued');
    answering.resolve();
    expect(await fixture.becomes(session, 'pending')).toMatchObject({ error: null });
    const path = `${fixture.sessions}/${session.id}/retry`;
    const refused = await fixture.ask<Problem>('POST', path);
    expect(refused).toMatchObject({ status: 409, body: { code: 'not_failed' } });
    expect(JSON.stringify(refused.body)).toContain('/v1/runs/{runId}/retry');
    working = true;
    await fixture.done('POST', `/v1/runs/${first.run!.id}/retry`);
    await until('both answered', async () => (await fixture.messages(session)).length === 4);
    const answers = (await fixture.messages(session)).filter(({ role }) => role === 'assistant');
    expect(answers.map(({ runId }) => runId)[1]).toBe(first.run!.id);
    expect((await fixture.becomes(session, 'pending')).error).toBeNull();
  });

  it('asks once more after an empty answer', async () => {
    fixture = await SessionFixture.open({ script: ({ step }) => ({ text: step === 1 ? ' ' : 'Here.' }) });
    const session = await fixture.create();
    await fixture.say(session, 'Hello');
    await fixture.becomes(session, 'pending');
    expect(await fixture.lines(session)).toEqual([
      'user: Hello',
      'system: No answer was given. Answer the last message now, in text.',
      'assistant: Here.',
    ]);
    expect(await fixture.events(session)).not.toContain('step.error');
    await fixture.say(session, 'And now?');
    await fixture.becomes(session, 'pending');
    // Later turns do not see the request to answer of an earlier turn.
    const texts = fixture.scripted.requests.at(-2)!.messages.map((one) => ('text' in one ? one.text : ''));
    expect(texts).toEqual(['Hello', 'Here.', 'And now?']);
  });

  it('completes with an empty answer if no step remains', async () => {
    fixture = await SessionFixture.open({ script: () => ({ text: '' }), limits: { steps: 1 } });
    const session = await fixture.create();
    await fixture.say(session, 'Hello');
    expect(await fixture.becomes(session, 'pending')).toMatchObject({ error: null });
    expect(await fixture.messages(session)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: { text: '' }, metadata: { empty: true } },
    ]);
  });

  it('stops what is under way and what waits for its turn', async () => {
    fixture = await SessionFixture.open({ script: () => ({ stallForever: true }) });
    const session = await fixture.create();
    const first = await fixture.say(session, 'one');
    await fixture.say(session, 'two');
    const stopped = await fixture.done<Session>('POST', `${fixture.sessions}/${session.id}/cancel`);
    expect(stopped).toMatchObject({ status: 'pending', finishedAt: null });
    const { data } = await fixture.done<{ data: Run[] }>('GET', `/v1/runs?sessionId=${session.id}`);
    expect(data.map(({ status, cancelReason }) => [status, cancelReason])).toEqual([
      ['canceled', 'user'],
      ['canceled', 'user'],
    ]);
    expect(data[1]!.id).toBe(first.run!.id);
    // Nothing to stop is no mistake.
    expect((await fixture.ask('POST', `${fixture.sessions}/${session.id}/cancel`)).status).toBe(200);
  });

  it('goes on elsewhere from any message', async () => {
    fixture = await SessionFixture.open({ script: ({ messages }) => ({ text: `heard ${messages.length}` }) });
    const session = await fixture.create({ tags: ['x'] });
    for (const text of ['one', 'two']) {
      await fixture.say(session, text);
      await fixture.becomes(session, 'pending');
    }
    const [, answer] = await fixture.messages(session);
    const path = `${fixture.sessions}/${session.id}/fork`;
    const forked = await fixture.done<Session>('POST', path, { messageId: answer!.id });
    expect(forked).toMatchObject({ status: 'pending', title: 'one', tags: ['x'], startedAt: null });
    expect(await fixture.lines(forked)).toEqual(['user: one', 'assistant: heard 1']);
    await fixture.say(forked, 'three');
    await fixture.becomes(forked, 'pending');
    expect(await fixture.lines(forked)).toEqual([
      'user: one',
      'assistant: heard 1',
      'user: three',
      'assistant: heard 3',
    ]);
    expect(await fixture.lines(session)).toHaveLength(4);
    const problem = await fixture.ask<Problem>('POST', path, {
      messageId: (await fixture.messages(forked))[2]!.id,
    });
    expect([problem.status, problem.body.code]).toEqual([404, 'message_not_found']);
    const run = await fixture.done<Run>('POST', `/v1/runs/${answer!.runId}/fork`, { step: 0 });
    expect(run).toMatchObject({ sessionId: null, triggerType: 'fork' });
    expect((await fixture.kernel.ended(run.id)).outcome).toEqual({ text: 'heard 1' });
    expect(await fixture.refused('POST', `/v1/runs/${answer!.runId}/fork`, { step: 9 })).toEqual([
      404,
      'step_not_found',
    ]);
  });

  it('is deleted while it works, with everything that hangs on it', async () => {
    const tool = gate();
    fixture = await SessionFixture.open({
      script: (request) =>
        request.step === 1 ? { calls: [{ name: 'work', arguments: {} }] } : { text: 'Done.' },
      tools: { work: () => tool.promise.then(() => null) },
      toolList: [{ name: 'work' }],
    });
    const kept = await fixture.create();
    const session = await fixture.create();
    const { run } = await fixture.say(session, 'one');
    await fixture.say(session, 'two');
    await until('the call runs', async () => (await fixture.messages(session)).length === 3);
    expect((await fixture.ask('DELETE', `${fixture.sessions}/${session.id}`)).status).toBe(204);
    tool.resolve();
    expect(await fixture.refused('GET', `${fixture.sessions}/${session.id}`)).toEqual([404, 'not_found']);
    expect(await fixture.refused('GET', `/v1/runs/${run!.id}`)).toEqual([404, 'not_found']);
    const { rows } = await fixture.db.pool.query(
      `select (select count(*) from troupe.messages) + (select count(*) from troupe.events) + (select count(*) from troupe.runs)
        + (select count(*) from troupe.run_heads) + (select count(*) from troupe.run_steps) + (select count(*) from troupe.tool_calls) as rows,
        (select count(*) from troupe.threads) as threads`,
    );
    expect(rows).toEqual([{ rows: 0, threads: 1 }]);
    // The worker has a place again, and the other session goes on.
    await fixture.say(kept, 'three');
    await until('answered', async () => (await fixture.messages(kept)).length === 4);
  });

  it('notes who copied it and who deleted it, once, and nothing where nothing was done', async () => {
    fixture = await SessionFixture.open();
    const session = await fixture.create({ user: 'ann' });
    await fixture.say(session, 'one');
    await fixture.becomes(session, 'pending');
    const [message] = await fixture.messages(session);
    const path = `${fixture.sessions}/${session.id}`;
    expect(await fixture.refused('POST', `${path}/fork`, { messageId: session.id })).toEqual([
      ...[404, 'message_not_found'],
    ]);
    fixture.caller = { ...fixture.caller, kind: 'key', keyId: 'a key' };
    const forked = await fixture.done<Session>('POST', `${path}/fork`, { messageId: message!.id });
    const answers = await Promise.all(Array.from({ length: 5 }, () => fixture.ask('DELETE', path)));
    for (const { status } of answers) expect([204, 404]).toContain(status);
    const { rows } = await fixture.db.pool.query(
      `select project_id as project, actor_kind as kind, actor_id as id, action, target, data from troupe.audit_log where action like 'session.%' order by id`,
    );
    const by = { project: fixture.ids.project, kind: 'key', id: 'a key' };
    const { entityId } = rows[0].data;
    expect(rows).toEqual([
      {
        ...by,
        action: 'session.forked',
        target: forked.id,
        data: { from: session.id, messageId: message!.id, entityId },
      },
      {
        ...by,
        action: 'session.deleted',
        target: session.id,
        data: { agentId: fixture.ids.agent, entityId },
      },
    ]);
  });
});
