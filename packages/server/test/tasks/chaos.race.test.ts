import { openServer, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { cancelChatTasks, cancelTask } from '../../src/doors/tasks/cancel.ts';
import {
  type Chat,
  call,
  calls,
  final,
  give,
  lastSaid,
  question,
  reply,
  results,
  type Say,
  TaskFixture,
  tasksTold,
} from './fixture.ts';

// Many conversations with tasks of every kind, worked on by two processes' worth of workers, while runs and tasks are canceled, taken up again and
// answered at random. Nothing is left behind that nobody looks at, and nobody waits in a circle.

let fixture: TaskFixture;
let other: TestServer;
beforeAll(async () => {
  fixture = await TaskFixture.open({ postgresUrl: inject('postgresUrl') });
  other = await openServer({
    postgresUrl: inject('postgresUrl'),
    databaseUrl: fixture.server.databaseUrl,
    script: (request) => fixture.answer(request),
  });
  await fixture.agent('boss', { delegates: { waitMs: 5_000 } });
  await fixture.agent('lead', { delegates: { waitMs: 5_000 } });
  await fixture.agent('finder');
});
afterAll(async () => {
  await other.close();
  await fixture.server.close();
});

const CHATS = 16;
const ACTS = 120;

const say =
  (chat: () => Chat): Say =>
  (request, who) => {
    const got = results(request);
    const isSub = request.tools.some(({ name }) => name === 'final_answer');
    if (who === 'finder') {
      if (got.length > 0 || !lastSaid(request).startsWith('ask')) return final('found');
      return question('Which?');
    }
    const waiting = got.findLast(({ status }) => status === 'waiting');
    if (waiting && got.length < 6 && request.step % 2 === 0)
      return calls(reply(String(waiting.subAgentId), 'this'));
    if (got.length > 0) return isSub ? final('led') : { text: 'so it is' };
    const asking = tasksTold(request).filter(({ status }) => status === 'waiting');
    if (asking.length > 0) return calls(...asking.map(({ subAgentId }) => reply(String(subAgentId), 'that')));
    if (lastSaid(request).startsWith('Task ')) return { text: 'heard' };
    const { word } = chat();
    const ended = tasksTold(request).filter(({ status }) => !['pending', 'running'].includes(String(status)));
    if (!isSub && ended.length > 0)
      return calls(
        ...ended.map(({ subAgentId }, n) =>
          call('reactivate_agent', {
            subAgentId: subAgentId!,
            instruction: `${n % 2 ? 'ask' : 'do'} ${word}`,
            background: n % 3 === 0,
          }),
        ),
      );
    return isSub
      ? calls(give('finder', `ask ${word}`), give('finder', `do ${word}`))
      : calls(
          give('lead', `x ${word}`),
          give('finder', `ask ${word}`, { background: true }),
          give('finder', `ask ${word}`),
        );
  };

test('whatever is canceled, answered and taken up again at once, all of it ends and agrees', async () => {
  const chats: Chat[] = [];
  for (let n = 0; n < CHATS; n++) {
    const chat: Chat = await fixture.session(
      'boss',
      say(() => chat),
    );
    chats.push(chat);
  }
  const [{ id: project }] = (await fixture.rows('select id from troupe.projects')) as [{ id: string }];
  const pick = async (text: string) =>
    (await fixture.rows<{ id: string }>(`${text} order by random() limit 1`))[0]?.id;
  const deadlocks = async () =>
    Number(
      (await fixture.rows('select deadlocks from pg_stat_database where datname = current_database()'))[0]!
        .deadlocks,
    );
  const before = await deadlocks();
  await Promise.all(chats.map((chat) => chat.post()));
  const acts = [
    async () => {
      const task = await pick('select id from troupe.tasks');
      if (task) await cancelTask({ db: other.db, kernel: other.kernel }, { project, task });
    },
    async () => {
      const run = await pick(
        `select id from troupe.runs where status in ('queued', 'running', 'waiting_tool')`,
      );
      if (run) await fixture.ask('POST', `/v1/runs/${run}/cancel`, {});
    },
    async () => {
      const run = await pick(
        `select r.id from troupe.runs r where r.task_id is not null and r.status in ('failed', 'canceled')`,
      );
      if (run) await fixture.ask('POST', `/v1/runs/${run}/retry`, {});
    },
    async () => {
      const task = await pick(`select id from troupe.tasks where status = 'waiting'`);
      if (task) await fixture.ask('POST', `/v1/tasks/${task}/answer`, { answer: 'mine' });
    },
    async () => {
      await chats[Math.floor(Math.random() * CHATS)]!.post('well');
    },
  ];
  const busy = Array.from({ length: 4 }, async (_, hand) => {
    for (let n = 0; n < ACTS / 4; n++) await acts[(n + hand) % acts.length]!();
  });
  await Promise.all(busy);
  await until(
    'it comes to rest',
    async () => {
      const [left] = await fixture.rows(
        `select from troupe.runs where status in ('queued', 'running') or (status = 'waiting_tool' and task_id is null) union all select from troupe.joins`,
      );
      return left === undefined;
    },
    30_000,
  );
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  for (const { id } of chats)
    await cancelChatTasks({ db: other.db, kernel: other.kernel }, { project, chat: id });
  await fixture.joined();
  expect(
    await fixture.rows(
      `select id, status from troupe.tasks where status in ('pending', 'running', 'waiting')`,
    ),
  ).toEqual([]);
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  expect(await deadlocks()).toBe(before);
});
