import { readFileSync } from 'node:fs';
import type { Delivery, DeliveryDetails } from '@troupe/protocol';
import { until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Web } from '../outgoing/web.ts';
import {
  call,
  calls,
  final,
  give,
  lastSaid,
  question,
  reply,
  results,
  TaskFixture,
  tasksTold,
} from '../tasks/fixture.ts';

// The six rules of the source, while a task is really given, asked about and done.

let fixture: TaskFixture;
let web: Web;
beforeAll(async () => {
  web = await Web.open();
  web.serve = (_request, response) => response.end('thanks');
  const allow = [`127.0.0.1:${web.port}`];
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl'), triggers: true, allow });
  await fixture.made('/v1/tools', { name: 'lookup', kind: 'echo', params: [{ name: 'q', required: true }] });
  await fixture.agent('boss', { delegates: {} });
  await fixture.agent('finder', { tools: ['lookup'] });
});
afterAll(async () => {
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
  await web.close();
});

/** All deliveries, once nothing is left to judge or to deliver. */
async function delivered(): Promise<DeliveryDetails[]> {
  await until(
    'all is delivered',
    async () =>
      (
        await fixture.rows(
          `select from troupe.changes union all select from troupe.trigger_deliveries where ended_at is null`,
        )
      ).length === 0,
  );
  const { data } = await fixture.get<{ data: Delivery[] }>('/v1/deliveries?limit=200');
  return Promise.all(data.map(({ id }) => fixture.get<DeliveryDetails>(`/v1/deliveries/${id}`)));
}

const of = (all: DeliveryDetails[], name: string) => all.filter(({ trigger }) => trigger === name);
const answers = (all: DeliveryDetails[], name: string) =>
  of(all, name).map(({ log }) => JSON.parse((log.at(-1)!.response as { body: string }).body));

test('each of them fires when the source says, is answered, and nothing is done twice; others hear of each end once', async () => {
  const triggers = JSON.parse(
    readFileSync(new URL('../../../../examples/triggers.json', import.meta.url), 'utf8'),
  ) as { triggerId: string }[];
  const outside = (name: string, condition: string) => ({
    name,
    collection: 'users/*/orch-chats/*/tasks',
    events: ['update'],
    condition,
    action: { type: 'webhook', url: `http://127.0.0.1:${web.port}/${name}` },
  });
  await fixture.made('/v1/triggers/apply', {
    triggers: [
      ...triggers,
      outside('done', `event.document.data.status == 'success'`),
      outside('failed', `event.document.status == 'failed'`),
    ],
  });
  let asked = 0;
  const chat = await fixture.session('boss', (request, agent) => {
    asked++;
    if (agent === 'finder') {
      const got = results(request);
      if (got.length === 0) return calls(...['a', 'b', 'c'].map((q) => call('lookup', { q })));
      if (got.length === 3) return question('Which currency?');
      return final(`42 ${got[3]!.answer}`);
    }
    const [got] = results(request);
    if (got?.status === 'waiting') return { text: `One thing: ${got.question}` };
    if (got) return { text: `Done: ${got.result}` };
    const waiting = tasksTold(request).find(({ status }) => status === 'waiting');
    if (waiting) return calls(reply(String(waiting.subAgentId), lastSaid(request).split(' ')[0]!));
    return calls(give('finder', `Find the price. ${chat.word}`));
  });
  expect(await chat.say('What does it cost?')).toBe('One thing: Which currency?');
  expect(await chat.say('euros')).toBe('Done: 42 euros');
  await fixture.joined();
  const all = await delivered();
  const task = await chat.task();
  for (const one of all)
    expect([one.trigger, one.status, one.attempts, one.result]).toEqual([
      one.trigger,
      'delivered',
      1,
      { status: 200 },
    ]);
  expect(of(all, 'on-user-message').map(({ document }) => String(document!.content).split(' ')[0])).toEqual([
    'euros',
    'What',
  ]);
  for (const { found } of answers(all, 'on-user-message'))
    expect(found).toEqual({ runId: expect.any(String), status: expect.any(String) });
  // 004: populated when the sub-agent starts.
  expect(of(all, 'on-new-task').map(({ document }) => [document!.status, document!.subAgentId])).toEqual([
    ['pending', undefined],
  ]);
  expect(answers(all, 'on-new-task')).toMatchObject([
    { handler: 'agent-init', found: { taskId: task.id, subAgentId: task.sub_agent_id } },
  ]);
  // What it was told, three results and what the person answered.
  expect(
    of(all, 'on-sub-agent-message')
      .map(({ document }) => document!.role)
      .toSorted(),
  ).toEqual(['tool', 'tool', 'tool', 'tool', 'user']);
  for (const { found } of answers(all, 'on-sub-agent-message'))
    expect(found).toMatchObject({ subAgentId: task.sub_agent_id });
  // The answer that ends it is no work for anybody.
  expect(
    of(all, 'on-sub-agent-tool')
      .map(({ document }) => document!.toolName)
      .toSorted(),
  ).toEqual(['ask_user', 'lookup', 'lookup', 'lookup']);
  expect(answers(all, 'on-task-waiting')).toMatchObject([{ found: { taskId: task.id } }]);
  expect(of(all, 'on-task-waiting')).toMatchObject([
    {
      before: { status: 'running' },
      document: { status: 'waiting', question: 'Which currency?', subAgentId: task.sub_agent_id },
    },
  ]);
  expect(answers(all, 'on-task-completed')).toMatchObject([
    { found: { taskId: task.id, status: 'success', result: '42 euros' } },
  ]);
  expect(web.heard.map(({ url, body }) => [url, JSON.parse(body).after.result])).toEqual([
    ['/done', '42 euros'],
  ]);

  // Told again, all of it: the same answers, and nothing is done once more.
  const before = asked;
  const state = async () => [await chat.messages(), await chat.tasks(), (await chat.events()).length];
  const was = await state();
  const { redelivered } = await fixture.made<{ redelivered: number }>('/v1/deliveries/redeliver', {
    status: 'delivered',
  });
  expect(redelivered).toBe(all.length);
  for (const { attempts, status } of await delivered()) expect([attempts, status]).toEqual([2, 'delivered']);
  await chat.rests();
  expect(await state()).toEqual(was);
  expect(asked).toBe(before);
  expect(new Set(web.heard.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('a task that fails is told too', async () => {
  web.forget();
  const chat = await fixture.session('boss', (request, agent) => {
    if (agent === 'finder') return { error: { code: 'broken', message: 'It broke.', retryable: false } };
    return results(request).length > 0 ? { text: 'Sorry.' } : calls(give('finder', `Try. ${chat.word}`));
  });
  expect(await chat.say('Try it.')).toBe('Sorry.');
  const task = await chat.becomes('failed');
  await delivered();
  expect(web.heard.map(({ url, body }) => [url, JSON.parse(body).documentId])).toEqual([
    ['/failed', task.id],
  ]);
});
