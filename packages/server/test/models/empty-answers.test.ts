import type { Event, Invoked, Json, Message, PostedSpaceMessage, Run, Task } from '@troupe/protocol';
import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { formats, type Said } from './wire/formats.ts';
import { stream, WireServer } from './wire/server.ts';

// Answers without text and calls, as each kind of provider sends them: every door decides their meaning.

let wire: WireServer;
let server: TestServer;

beforeAll(async () => {
  wire = await WireServer.open();
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterEach(async () => {
  expect(wire.left).toBe(0);
  wire.heard.length = 0;
  expect(await violations(server.db.pool)).toEqual([]);
});
afterAll(async () => {
  await server.close();
  await wire.close();
});

async function ask<Body = { id: string }>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = await response.json();
  expect([path, response.status < 300, answer]).toEqual([path, true, answer]);
  return answer as Body;
}

async function ended(run: string): Promise<Run> {
  const read = () => ask<Run>('GET', `/runs/${run}`);
  await until('the run has ended', async () => ['completed', 'failed'].includes((await read()).status));
  return read();
}

const messagesOf = async (run: string) =>
  (await ask<{ data: Message[] }>('GET', `/runs/${run}/messages`)).data;
const eventsOf = async (run: string) =>
  (await ask<{ data: Event[] }>('GET', `/runs/${run}/events?limit=1000`)).data;

describe.each(formats.map((format) => ({ kind: format.kind, format })))('$kind', ({ kind, format }) => {
  let defaultModelId: string;
  let agentId: string;
  const say = (...answers: Said[]) => wire.replies(...answers.map((said) => stream(format.events(said))));
  const heard = (at: number) => JSON.stringify(wire.heard[at]!.body);

  beforeAll(async () => {
    const provider = { kind, name: kind, baseUrl: wire.url, apiKey: 'sk-test' };
    const { id } = await ask('POST', '/providers', provider);
    const model = { modelId: 'm', displayName: 'M' };
    defaultModelId = (await ask('POST', `/providers/${id}/models`, model)).id;
    agentId = (await ask('POST', '/agents', { name: `${kind} agent`, defaultModelId })).id;
  });

  async function turn(agent = agentId) {
    const session = await ask('POST', `/agents/${agent}/sessions`, {});
    const path = `/agents/${agent}/sessions/${session.id}`;
    const posted = await ask<{ run: { id: string } }>('POST', `${path}/messages`, {
      content: { text: 'Hello' },
    });
    const run = await ended(posted.run.id);
    return { run, messages: await messagesOf(run.id), session: await ask<Json>('GET', path) };
  }

  describe('in a session', () => {
    it('is asked once more, and answers', async () => {
      say({}, { text: ['Here.'] });
      const { run, messages } = await turn();
      expect(run).toMatchObject({ status: 'completed', step: 2, outcome: { text: 'Here.' } });
      expect(messages).toMatchObject([
        { role: 'user' },
        { role: 'system', content: { text: expect.stringContaining('No answer was given.') }, step: 1 },
        { role: 'assistant', content: { text: 'Here.' }, step: 2 },
      ]);
      expect(heard(0)).not.toContain('No answer was given.');
      expect(heard(1)).toContain('No answer was given.');
    });

    it('completes with metadata.empty after the second empty answer', async () => {
      say({}, {});
      const { run, messages, session } = await turn();
      expect(run).toMatchObject({ status: 'completed', error: null, outcome: { text: '', empty: true } });
      expect(messages.at(-1)).toMatchObject({
        role: 'assistant',
        content: { text: '' },
        metadata: { empty: true },
      });
      expect(session).toMatchObject({ status: 'pending', error: null });
      const types = (await eventsOf(run.id)).map(({ type }) => type);
      expect(types).toContain('session.completed');
      expect(types).not.toContain('step.error');
    });

    it('is asked once more after the result of a tool', async () => {
      const capabilities = [{ id: 'current_time' }];
      const clock = { name: `${kind} clock`, defaultModelId, capabilities };
      const { id } = await ask('POST', '/agents', clock);
      say({ calls: [{ id: 'call_1', name: 'current_time', pieces: ['{}'] }] }, {}, { text: ['Noon.'] });
      expect((await turn(id)).run).toMatchObject({ status: 'completed', outcome: { text: 'Noon.' } });
    });

    it('fails if all output tokens were used before any text', async () => {
      say({ finish: 'length' });
      const { run } = await turn();
      expect(run).toMatchObject({ status: 'failed', error: { code: 'model_empty' } });
      expect(run.error!.message).toContain('maxOutputTokens');
    });
  });

  it('001: an agent with an empty answer is silent, and has seen the messages', async () => {
    const ann = await ask('POST', '/entities', { externalId: `ann-${kind}`, displayName: 'Ann' });
    const members = [{ entityId: ann.id }, { agentId }];
    const space = await ask('POST', '/spaces', { name: `Space of ${kind}`, members });
    const post = async (text: string) => {
      const body = { content: { text }, senderId: ann.id };
      const posted = await ask<PostedSpaceMessage>('POST', `/spaces/${space.id}/messages`, body);
      return { id: posted.id, run: await ended(posted.runs[0]!.id) };
    };
    say({ reasoning: ['Nothing to add.'] }, {});
    const first = await post('Nobody needs to answer this.');
    expect(first.run).toMatchObject({
      status: 'completed',
      error: null,
      outcome: { silent: true, messageIds: [] },
    });
    const { data: events } = await ask<{ data: Event[] }>('GET', `/spaces/${space.id}/events?limit=1000`);
    const types = events.map(({ type }) => type);
    expect(types).toContain('run.completed');
    expect(types).not.toContain('run.failed');
    const { data } = await ask<{ data: { agentId: string | null; lastProcessedMessageId: string }[] }>(
      'GET',
      `/spaces/${space.id}/members`,
    );
    expect(data.find((member) => member.agentId === agentId)?.lastProcessedMessageId).toBe(first.id);
    await post('Nor this.');
    expect(heard(0)).toMatch(/\[NEW\][^\n]*Nobody needs/);
    expect(heard(1)).toMatch(/\[SEEN\][^\n]*Nobody needs/);
  });

  it('002: an empty answer is a retry verdict in a network', async () => {
    const { id } = await ask('POST', '/networks', {
      name: `Network of ${kind}`,
      policy: { retries: 1 },
      agents: [
        { key: 'main', prompt: 'Answer.', modelId: defaultModelId, allowRespond: true, isDefault: true },
      ],
    });
    await ask('POST', `/networks/${id}/publish`, {});
    const invoke = () =>
      ask<Invoked>('POST', `/networks/${id}/invoke`, { input: 'Go.', mode: 'wait', timeoutMs: 20_000 });
    say({}, { calls: [{ id: 'call_1', name: 'respond', pieces: ['{"payload":{"message":"Done"}}'] }] });
    const invoked = await invoke();
    expect(invoked).toMatchObject({ status: 'completed', response: { message: 'Done' } });
    const refused = (await eventsOf(invoked.id)).filter(({ type }) => type === 'decision.refused');
    expect(refused).toMatchObject([{ data: { agent: 'main', code: 'empty_answer' } }]);
    expect(heard(1)).toContain('Your answer was empty. Decide again, by calling a tool.');
    say({}, {});
    expect(await invoke()).toMatchObject({ status: 'failed', error: { code: 'too_many_refusals' } });
  });

  it('is asked once more as a sub-agent, and then its task fails', async () => {
    const capabilities = [{ id: 'delegation' }];
    const boss = { name: `${kind} boss`, defaultModelId, capabilities };
    const { id } = await ask('POST', '/agents', boss);
    const pieces = [JSON.stringify({ type: `${kind} agent`, instruction: 'Find it.' })];
    const delegate = { calls: [{ id: 'call_1', name: 'create_agent', pieces }] };
    const final = { calls: [{ id: 'call_2', name: 'final_answer', pieces: ['{"result":"Found."}'] }] };
    say(delegate, {}, final, { text: ['It was found.'] });
    expect((await turn(id)).run).toMatchObject({ status: 'completed' });
    expect(heard(2)).toContain('No answer was given. Call final_answer');
    expect(heard(3)).toContain('Found.');
    say(delegate, {}, {}, { text: ['It was not found.'] });
    const { run } = await turn(id);
    expect(run).toMatchObject({ status: 'completed' });
    expect(heard(7)).toContain('empty_answer');
    const { data } = await ask<{ data: Task[] }>('GET', `/tasks?chat=${run.sessionId}`);
    expect(data).toMatchObject([{ status: 'failed', error: expect.stringContaining('two empty answers') }]);
  });
});
