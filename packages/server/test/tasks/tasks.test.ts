import type { Json, JsonObject, Run } from '@troupe/protocol';
import { contention, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { idFrom } from '../../src/base/ids.ts';
import { cancelChatTasks, cancelTask } from '../../src/doors/tasks/cancel.ts';
import { invalidDocuments } from '../sync/valid.ts';
import {
  allResults,
  type Chat,
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
} from './fixture.ts';

// Tasks in all the ways in which they end. One server; long because a server costs more than a test.
//
// What went wrong in the system that tasks are taken from, and which test shows that it does not here:
//
//  1 two results at the same time, nobody goes on    parallel.race: 'fifty calls of one turn of a sub-agent…'
//  2 a lock outlives whoever died or failed          'fails, and is taken up again by hand…'; kill.crash: 'killed before and after…'
//  3 a tool that is lost is waited for for ever      'has a tool that nobody answers…'
//  4 nothing ends a loop                             'loops: its last step has no tools…', 'loops and does not even stop then…'
//  5 plain text ends nothing                         'answers with plain text: that is the result'
//  6 a late write of a reply overwrites the end      'reactivates a sub-agent, which remembers'; chaos.race; kill.crash
//  7 a repeated delivery makes a second task         kill.crash: '…the same end, and nothing twice'
//  8 told by its text: twice, or not at all          'ends twice with the same words…'
//  9 told again by any later change                  'ends twice with the same words…'
// 10 what a person says is dropped                   'what is told waits for its turn…'; parallel.race: 'what an assistant says starts nothing'
// 11 a failure is never shown                        'fails with its model, and the failure is told'; 'a failure, and a cancel by somebody else'
// 12 people write and read what is not theirs        access/every-endpoint: 'a person reads and cancels the tasks…'; sync/rights: 'what is not theirs cannot be written…'
// 13 the rules do not fit what is stored             triggers/rules: 'the six rules of the source load as they stand…'; triggers/conditions: '…in both spellings…'

let fixture: TaskFixture;
let project: string;
beforeAll(async () => {
  fixture = await TaskFixture.open({
    postgresUrl: inject('postgresUrl'),
  });
  await fixture.made('/v1/tools', { name: 'lookup', kind: 'echo', params: [{ name: 'q', required: true }] });
  await fixture.made('/v1/tools', { name: 'press', kind: 'client', deadlineMs: 700 });
  await fixture.made('/v1/tools', { name: 'guarded', kind: 'echo', approval: true });
  await fixture.agent('boss', {
    capabilities: [{ id: 'delegation' }, { id: 'file_system' }],
    tools: ['lookup', 'guarded'],
  });
  await fixture.agent('small', {
    delegates: { depth: 2, tasks: 2, waitMs: 1_000, questionMs: 900, questions: 2, repeats: 2 },
  });
  await fixture.agent('finder', {
    tools: ['lookup', 'press'],
    limits: { steps: 4, modelTries: 1, retryBackoffMs: 0 },
  });
  await fixture.agent('lead', { delegates: { depth: 2 } });
  project = String((await fixture.rows('select id from troupe.projects'))[0]!.id);
});
afterAll(async () => {
  await fixture.joined();
  expect((await invalidDocuments(fixture.server.db.pool)).invalid).toEqual([]);
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const parts = () => ({ db: fixture.server.db, kernel: fixture.server.kernel });
/** What the agent was told of tasks that it did not wait for. */
const news = async (chat: Chat) => (await chat.messages()).filter(({ role }) => role === 'system');
const text = ({ content }: { content: unknown }) => (content as { text: string }).text;

describe('a sub-agent', () => {
  /** Gives one task, and says how it went. */
  const asBoss = (chat: () => Chat, got: JsonObject | undefined) =>
    got ? { text: JSON.stringify(got) } : calls(give('finder', `Do it. ${chat().word}`));
  const play = async (
    sub: (request: Parameters<typeof results>[0]) => ReturnType<typeof final>,
    agent = 'boss',
  ) => {
    const chat: Chat = await fixture.session(agent, (request, who) =>
      who === 'finder' ? sub(request) : asBoss(() => chat, results(request)[0]),
    );
    const said = JSON.parse(await chat.say()) as JsonObject;
    return { said, task: await chat.task(), chat };
  };

  test('answers with plain text: that is the result', async () => {
    const { said, task } = await play(() => ({ text: 'just so' }));
    expect(said).toMatchObject({
      status: 'success',
      result: 'just so',
      taskId: task.id,
      subAgentId: task.sub_agent_id,
    });
    expect(task).toMatchObject({ status: 'success', result: 'just so' });
  });

  test('ends with final_answer whatever else it calls, and nothing else is done', async () => {
    const { task } = await play(() =>
      calls(
        call('lookup', { q: 'x' }),
        call('ask_user', { question: 'Why?' }),
        call('final_answer', { result: 'enough' }),
      ),
    );
    expect(task).toMatchObject({ status: 'success', result: 'enough', iteration_count: 1, told: 1 });
    expect(await fixture.rows('select from troupe.tool_calls where run_id = $1', task.run_id)).toEqual([]);
  });

  test('is told what is wrong with a final answer that has no result', async () => {
    const { task } = await play((request) =>
      results(request).length === 0
        ? calls(call('final_answer', { result: '' }))
        : final(String(results(request)[0]!.code)),
    );
    expect(task).toMatchObject({ status: 'success', result: 'invalid_arguments' });
  });

  test('loops: its last step has no tools, and what it says then is the result', async () => {
    const tools: number[] = [];
    const { task } = await play((request) => {
      tools.push(request.tools.length);
      return request.toolChoice === 'none'
        ? { text: 'as far as I came' }
        : calls(call('lookup', { q: 'again' }));
    });
    expect(task).toMatchObject({ status: 'success', result: 'as far as I came', iteration_count: 4 });
    expect(tools).toEqual([4, 4, 4, 0]);
  });

  test('loops and does not even stop then: it fails with a name, and whoever gave it goes on', async () => {
    const { said, task } = await play(() => calls(call('lookup', { q: 'again' })));
    expect(said).toMatchObject({
      code: 'iteration_limit',
      message: expect.stringContaining(task.sub_agent_id!),
    });
    expect(task).toMatchObject({
      status: 'failed',
      error: { code: 'iteration_limit' },
      sub_status: 'failed',
      iteration_count: 4,
    });
  });

  test('has a tool that nobody answers: the call expires, and it goes on', async () => {
    const { task } = await play((request) =>
      results(request).length === 0 ? calls(call('press')) : final(String(results(request)[0]!.code)),
    );
    expect(task).toMatchObject({ status: 'success', result: 'expired' });
  });

  test('fails with its model, and the failure is told', async () => {
    const { said, task, chat } = await play(() => ({
      error: { code: 'model_down', message: 'No model.', retryable: false },
    }));
    expect(said).toMatchObject({ code: 'model_down' });
    expect(task).toMatchObject({ status: 'failed', error: { code: 'model_down' } });
    await fixture.joined();
    const last = (await chat.events()).findLast(({ type }) => type === 'task.updated')!;
    expect(last.data).toMatchObject({ status: 'failed', code: 'model_down' });
  });

  test('fails, and is taken up again by hand: its result is told, as nobody waits for it any more', async () => {
    let broken = true;
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder')
        return broken
          ? { error: { code: 'model_down', message: 'No.', retryable: false } }
          : final('at last');
      if (lastSaid(request).startsWith('Task ')) return { text: 'heard' };
      return asBoss(() => chat, results(request)[0]);
    });
    expect(JSON.parse(await chat.say())).toMatchObject({ code: 'model_down' });
    broken = false;
    const { run_id } = await chat.task();
    expect((await fixture.ask('POST', `/v1/runs/${run_id}/retry`, {})).status).toBe(200);
    expect(await chat.becomes('success')).toMatchObject({ result: 'at last', told: 2, error: null });
    await chat.rests();
    expect((await news(chat)).map(text)).toEqual([expect.stringContaining('Its result:\n\nat last')]);
  });

  test('asks the same again and again: it gets the same answer, then must end', async () => {
    const chat: Chat = await fixture.session('small', (request, who) => {
      if (who === 'finder')
        return request.toolChoice === 'none'
          ? { text: 'well then' }
          : question(`WHICH  one${'?'.repeat(request.step)}`);
      const got = results(request).at(-1);
      if (got?.status === 'waiting') return calls(reply(String(got.subAgentId), 'the red one'));
      return got ? { text: JSON.stringify(got) } : calls(give('finder', `Do it. ${chat.word}`));
    });
    expect(JSON.parse(await chat.say())).toMatchObject({ status: 'success', result: 'well then' });
    const task = await chat.task();
    expect(task.iteration_count).toBe(4);
    const asked = await fixture.rows<{ output: JsonObject }>(
      'select output from troupe.tool_calls where run_id = $1 order by step',
      task.run_id,
    );
    expect(asked.map(({ output }) => [output.answer, output.repeated ?? false])).toEqual([
      ['the red one', false],
      ['the red one', true],
      ['the red one', true],
    ]);
  });

  test('asks for ever, each time something else: it may not, and ends with a name', async () => {
    const chat: Chat = await fixture.session('small', (request, who) => {
      if (who === 'asker') return question(`Question ${request.step}?`);
      const got = results(request).at(-1);
      if (got?.status === 'waiting') return calls(reply(String(got.subAgentId), 'yes'));
      return got ? { text: JSON.stringify(got) } : calls(give('asker', `Do it. ${chat.word}`));
    });
    if (!fixture.agents.has('asker')) await fixture.agent('asker');
    expect(JSON.parse(await chat.say())).toMatchObject({ code: 'question_limit' });
    expect(await chat.task()).toMatchObject({ status: 'failed', error: { code: 'question_limit' } });
  });

  test('asks two things at once: one is asked', async () => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder')
        return results(request).length === 0
          ? calls(
              call('ask_user', { question: 'A?' }),
              call('lookup', { q: 'x' }),
              call('ask_user', { question: 'B?' }),
            )
          : final(
              results(request)
                .map((one) => one.answer ?? one.code ?? (one.echo as JsonObject).q)
                .join(),
            );
      const got = results(request).at(-1);
      if (got?.status === 'waiting') return calls(reply(String(got.subAgentId), 'yes'));
      return got ? { text: String(got.result) } : calls(give('finder', `Do it. ${chat.word}`));
    });
    expect(await chat.say()).toBe('yes,x,one_question');
  });

  test('asks and nobody answers in time: it is told so, goes on, and its result comes as a message', async () => {
    const chat: Chat = await fixture.session('small', (request, who) => {
      if (who === 'finder')
        return results(request).length === 0
          ? question('Anybody?')
          : final(String(results(request)[0]!.code));
      if (lastSaid(request).startsWith('Task ')) return { text: 'heard of it' };
      return results(request).length > 0
        ? { text: 'I let it wait' }
        : calls(give('finder', `Do it. ${chat.word}`));
    });
    expect(await chat.say()).toBe('I let it wait');
    const { run_id } = await chat.becomes('success');
    await chat.rests();
    expect((await chat.task()).result).toBe('expired');
    expect((await news(chat)).map(text)).toEqual([
      expect.stringContaining('is done. Its result:\n\nexpired'),
    ]);
    expect((await chat.messages()).at(-1)).toMatchObject({
      role: 'assistant',
      content: { text: 'heard of it' },
    });
    // The time for the answer was given back.
    const [run] = await fixture.rows<{ over: boolean }>(
      `select deadline_at between started_at + make_interval(secs => wall_ms / 1000.0) and started_at + make_interval(secs => wall_ms / 1000.0 + 3) as over from troupe.runs where id = $1`,
      run_id,
    );
    expect(run).toEqual({ over: true });
  });

  test('takes longer than anybody waits: it is canceled, and whoever gave it goes on', async () => {
    const gate = Promise.withResolvers<void>();
    const chat: Chat = await fixture.session('small', async (request, who) => {
      if (who === 'finder') await gate.promise;
      return asBoss(() => chat, results(request)[0]);
    });
    expect(JSON.parse(await chat.say())).toMatchObject({ code: 'expired' });
    expect(await chat.becomes('canceled')).toMatchObject({
      error: { code: 'canceled' },
      sub_status: 'failed',
    });
    gate.resolve();
  });
});

describe('the agent that gives tasks', () => {
  test('is told whom it can give them, where it names nobody', async () => {
    const chat: Chat = await fixture.session('boss', (request) =>
      results(request)[0]
        ? { text: JSON.stringify(results(request)[0]) }
        : calls(give('nobody', `x ${chat.word}`)),
    );
    expect(JSON.parse(await chat.say())).toMatchObject({
      code: 'agent_not_found',
      message: expect.stringContaining('"finder"'),
    });
    expect(await chat.tasks()).toEqual([]);
  });

  test('answers from what was said before, without asking the person', async () => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder')
        return results(request).length === 0
          ? question('Which colour?')
          : final(`a ${results(request)[0]!.answer} car`);
      const got = results(request).at(-1);
      if (got?.status === 'waiting') return calls(reply(String(got.subAgentId), 'red'));
      return got ? { text: String(got.result) } : calls(give('finder', `Do it. ${chat.word}`));
    });
    expect(await chat.say('I like red.')).toBe('a red car');
    expect(await chat.task()).toMatchObject({ status: 'success', told: 2 });
    expect(await news(chat)).toEqual([]);
  });

  test('reactivates a sub-agent, which remembers', async () => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder') {
        const turns = request.messages.filter(({ role }) => role === 'user').length;
        return final(`answer ${turns} after ${request.messages.length} messages`);
      }
      const got = results(request).at(-1);
      if (got) return { text: String(got.result) };
      const [known] = tasksTold(request);
      return calls(
        known
          ? call('reactivate_agent', { subAgentId: known.subAgentId!, instruction: `More. ${chat.word}` })
          : give('finder', `Do it. ${chat.word}`),
      );
    });
    expect(await chat.say()).toBe('answer 1 after 1 messages');
    const before = await chat.task();
    expect(await chat.say('more')).toBe('answer 2 after 3 messages');
    const task = await chat.task();
    expect(task).toMatchObject({ id: before.id, status: 'success', iteration_count: 2, told: 2 });
    expect(task.run_id).not.toBe(before.run_id);
    expect(idFrom(`${task.id}:run`, task.id)).toBe(before.run_id);
  });

  test('goes on with a sub-agent whose first run failed: that one cannot be taken up beside it', async () => {
    let broken = true;
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder')
        return broken ? { error: { code: 'model_down', message: 'No.', retryable: false } } : final('mended');
      const got = results(request).at(-1);
      if (got) return { text: String(got.result ?? got.code) };
      const [known] = tasksTold(request);
      return calls(
        known
          ? call('reactivate_agent', { subAgentId: known.subAgentId!, instruction: `Again. ${chat.word}` })
          : give('finder', `Do it. ${chat.word}`),
      );
    });
    expect(await chat.say()).toBe('model_down');
    const { run_id: first } = await chat.task();
    broken = false;
    expect(await chat.say('again')).toBe('mended');
    const retried = await fixture.ask<{ code: string }>('POST', `/v1/runs/${first}/retry`, {});
    expect([retried.status, retried.body.code]).toEqual([409, 'task_went_on']);
    expect(await fixture.get<Run>(`/v1/runs/${first}`)).toMatchObject({ status: 'failed' });
  });

  test('of a copy of a run: its tasks end with it, and a copy of the work on a task asks nobody', async () => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder')
        return results(request).length === 0
          ? question('Which?')
          : final(String(results(request)[0]!.code ?? results(request)[0]!.answer));
      const [got] = results(request);
      return got ? { text: String(got.status) } : calls(give('finder', `Do it. ${chat.word}`));
    });
    const { run } = await chat.post();
    expect(await chat.answered(run!.id)).toBe('waiting');
    const { run_id } = await chat.task();
    const ofTask = await fixture.made<Run>(`/v1/runs/${run_id}/fork`, { step: 0 });
    expect(await chat.answered(ofTask.id)).toBe('nobody_to_ask');
    const copy = await fixture.made<Run>(`/v1/runs/${run!.id}/fork`, { step: 0 });
    expect(await chat.answered(copy.id)).toBe('waiting');
    await until('it ends', async () => (await fixture.tasks(copy.id))[0]?.status === 'canceled');
    expect((await chat.task()).status).toBe('waiting');
  });

  test('gets results that fit the schema of the role', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    await fixture.agent('counter', { answer: { schema, tries: 3 }, limits: { steps: 5 } });
    const play = async (...turns: ReturnType<typeof final>[]) => {
      const chat: Chat = await fixture.session('boss', (request, who) => {
        if (who === 'counter') {
          expect(request.system).toContain('fits this JSON Schema');
          return turns[request.step - 1]!;
        }
        const [got] = results(request);
        return got ? { text: JSON.stringify(got) } : calls(give('counter', `Count. ${chat.word}`));
      });
      return { said: JSON.parse(await chat.say()) as JsonObject, task: await chat.task() };
    };
    const given = (result: Json) => calls(call('final_answer', { result }));
    const mended = await play(given('many'), { text: 'about three' }, given({ n: 3 }));
    expect(mended.said).toMatchObject({ status: 'success', result: '{"n":3}' });
    expect(mended.task).toMatchObject({ iteration_count: 3 });
    expect((await play(given('{"n": 4}'))).said).toMatchObject({ result: '{"n": 4}' });
    expect((await play({ text: '```json\n{"n": 5}\n```' })).said).toMatchObject({ result: '{"n": 5}' });
    const never = await play(given('a'), given('b'), given('c'));
    expect(never.said).toMatchObject({ code: 'answer_invalid' });
    expect(never.task).toMatchObject({ status: 'failed', iteration_count: 3 });
  });

  test('cannot speak to what is not there, is another’s, or is not asking', async () => {
    const other: Chat = await fixture.session('boss', (request, who) =>
      who === 'finder'
        ? final('x')
        : results(request)[0]
          ? { text: 'ok' }
          : calls(give('finder', `Do it. ${other.word}`)),
    );
    await other.say();
    const theirs = (await other.task()).sub_agent_id!;
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder') return final('x');
      const got = allResults(request);
      if (got.length === 0) return calls(give('finder', `Do it. ${chat.word}`));
      if (got.length > 1) return { text: JSON.stringify(got.slice(1).map(({ code }) => code)) };
      return calls(
        reply('researcher', 'yes'),
        reply(theirs, 'yes'),
        reply(String(got[0]!.subAgentId), 'yes'),
        call('reactivate_agent', { subAgentId: theirs, instruction: 'go' }),
      );
    });
    expect(JSON.parse(await chat.say())).toEqual([
      'sub_agent_not_found',
      'sub_agent_not_found',
      'not_asked',
      'sub_agent_not_found',
    ]);
    expect((await other.task()).status).toBe('success');
  });

  test('nests tasks as deep as it may, and gives as many as it may', async () => {
    const chat: Chat = await fixture.session('lead', (request, who) => {
      const got = results(request);
      if (who === 'finder') return final('found');
      if (got.length > 0) return { text: got.map((one) => one.result ?? one.code).join() };
      const depth = Number(/depth (\d)/.exec(lastSaid(request))?.[1] ?? 0);
      return calls(give('lead', `depth ${depth + 1} ${chat.word}`));
    });
    expect(await chat.say()).toBe('task_depth');
    const tasks = await chat.tasks();
    expect(tasks.map(({ depth, status }) => [depth, status])).toEqual([
      [1, 'success'],
      [2, 'success'],
    ]);
    expect(tasks[1]!.parent_task_id).toBe(tasks[0]!.id);
    const many: Chat = await fixture.session('small', (request, who) => {
      if (who === 'finder') return final('found');
      const got = results(request);
      if (got.length > 0)
        return {
          text: got
            .map((one) => one.result ?? one.code)
            .sort()
            .join(),
        };
      return calls(...[1, 2, 3].map((n) => give('finder', `${n} ${many.word}`)));
    });
    expect(await many.say()).toBe('found,found,too_many_runs');
  });

  test('is asked by a sub-agent of its sub-agent through that one', async () => {
    const chat: Chat = await fixture.session('lead', (request, who) => {
      const got = results(request);
      if (who === 'finder') return got.length === 0 ? question('Which?') : final(`took ${got[0]!.answer}`);
      const isSub = request.tools.some(({ name }) => name === 'final_answer');
      if (!isSub) {
        if (got.length === 0) {
          const waiting = tasksTold(request).find(({ status }) => status === 'waiting');
          return calls(
            waiting ? reply(String(waiting.subAgentId), 'blue') : give('lead', `outer ${chat.word}`),
          );
        }
        return {
          text: got[0]!.status === 'waiting' ? `Please: ${got[0]!.question}` : String(got[0]!.result),
        };
      }
      const last = got.at(-1);
      if (!last) return calls(give('finder', `inner ${chat.word}`));
      if (last.status === 'waiting') return question(`They ask: ${last.question}`);
      if (last.answer) return calls(reply(String(got[0]!.subAgentId), String(last.answer)));
      return final(String(last.result));
    });
    expect(await chat.say()).toBe('Please: They ask: Which?');
    expect((await chat.tasks()).map(({ status }) => status)).toEqual(['waiting', 'waiting']);
    expect(await chat.say('blue')).toBe('took blue');
    expect((await chat.tasks()).map(({ status }) => status)).toEqual(['success', 'success']);
  });
});

describe('in the background', () => {
  const begin = async (
    sub: (
      request: Parameters<typeof results>[0],
    ) => ReturnType<typeof final> | Promise<ReturnType<typeof final>>,
    more: JsonObject = {},
  ) => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder') return sub(request);
      const said = lastSaid(request);
      if (said.startsWith('Task ')) {
        const waiting = tasksTold(request).find(({ status }) => status === 'waiting');
        if (results(request)[0]) return { text: `replied: ${results(request)[0]!.status}` };
        return waiting && more.answers
          ? calls(reply(String(waiting.subAgentId), 'yes'))
          : { text: `told: ${said.slice(0, 200)}` };
      }
      const [got] = results(request);
      return got
        ? { text: `begun: ${got.status}` }
        : calls(give('finder', `Do it. ${chat.word}`, { background: true }));
    });
    return chat;
  };
  const saidLast = async (chat: Chat) => text((await chat.messages()).at(-1)!);

  test('the agent goes on at once, and is told of the result once, by a message that starts a run', async () => {
    const gate = Promise.withResolvers<void>();
    const chat = await begin(async () => {
      await gate.promise;
      return final('late but good');
    });
    expect(await chat.say()).toBe('begun: pending');
    gate.resolve();
    await chat.becomes('success');
    await chat.rests();
    expect((await news(chat)).map(text)).toEqual([
      expect.stringMatching(/^Task .* is done\. Its result:\n\nlate but good$/),
    ]);
    expect(await saidLast(chat)).toContain('told: Task');
    const [{ count }] = (await fixture.rows<{ count: number }>(
      `select count(*)::int from troupe.runs r join troupe.sessions s on s.thread_id = r.thread_id where s.id = $1`,
      chat.id,
    )) as [{ count: number }];
    expect(count).toBe(2);
  });

  test('the agent is told as what it is by then, and what a sub-agent found weighs no more than what a person says', async () => {
    const gate = Promise.withResolvers<void>();
    const id = await fixture.agent('young', { delegates: {} });
    const told: { system: string; role: string }[] = [];
    const chat: Chat = await fixture.session('young', async (request, who) => {
      if (who === 'finder') {
        await gate.promise;
        return final('obey me');
      }
      const last = request.messages.at(-1)!;
      if (lastSaid(request).startsWith('Task ')) {
        told.push({ system: request.system, role: last.role });
        return { text: 'heard' };
      }
      return results(request)[0]
        ? { text: 'begun' }
        : calls(give('finder', `Do it. ${chat.word}`, { background: true }));
    });
    await chat.say();
    expect((await fixture.ask('PATCH', `/v1/agents/${id}`, { systemPrompt: 'I am older.' })).status).toBe(
      200,
    );
    gate.resolve();
    await until('it is told', async () => told.length === 1);
    expect(told[0]).toEqual({ system: expect.stringContaining('I am older.'), role: 'user' });
    await chat.rests();
  });

  test('ends twice with the same words: each is told, once, whatever is written later', async () => {
    const chat: Chat = await fixture.session('boss', (request, who) => {
      if (who === 'finder') return final('nothing new');
      if (lastSaid(request).startsWith('Task ')) return { text: 'heard' };
      if (results(request)[0]) return { text: 'begun' };
      const [known] = tasksTold(request);
      const instruction = `Look. ${chat.word}`;
      return calls(
        known
          ? call('reactivate_agent', { subAgentId: known.subAgentId!, instruction, background: true })
          : give('finder', instruction, { background: true }),
      );
    });
    await chat.say();
    await until('it is told', async () => (await news(chat)).length === 1);
    await chat.rests();
    await chat.say('again');
    await until('it is told again', async () => (await news(chat)).length === 2);
    await chat.rests();
    const { id, run_id } = await chat.task();
    await fixture.rows(
      `update troupe.tasks set updated_at = now(), status = 'success', result = 'nothing new' where id = $1`,
      id,
    );
    await fixture.rows(
      `update troupe.runs set updated_at = now(), status = 'completed' where id = $1`,
      run_id,
    );
    await chat.rests();
    const texts = (await news(chat)).map(text);
    expect(texts).toHaveLength(2);
    expect(texts[0]).toBe(texts[1]);
  });

  test('what becomes of tasks is told in the chat at once', async () => {
    const gate = Promise.withResolvers<void>();
    const chat = await begin(async () => {
      await gate.promise;
      return final('x');
    });
    const late = () =>
      fixture.rows<{ ms: number }>(
        `select extract(epoch from e.created_at - t.created_at) * 1000 as ms from troupe.tasks t join troupe.events e on e.thread_id = t.chat_thread_id
          and e.type = 'task.updated' and e.data->>'id' = t.id::text where t.chat_id = $1`,
        chat.id,
      );
    for (let n = 1; n <= 5; n++) {
      await chat.say();
      await until('it is told', async () => (await late()).length === n);
    }
    // A sweep would take a quarter of a second each.
    expect((await late()).reduce((sum, { ms }) => sum + Number(ms), 0) / contention()).toBeLessThan(700);
    gate.resolve();
    await chat.rests();
  });

  test('what is told waits for its turn, whatever the session’s policy', async () => {
    const gate = Promise.withResolvers<void>();
    const busy = Promise.withResolvers<void>();
    const chat: Chat = await fixture.session('boss', async (request, who) => {
      if (who === 'finder') {
        await gate.promise;
        return final('done');
      }
      if (lastSaid(request).startsWith('wait')) {
        gate.resolve();
        await busy.promise;
        return { text: 'waited' };
      }
      if (lastSaid(request).startsWith('Task ')) return { text: 'told' };
      return results(request)[0]
        ? { text: 'begun' }
        : calls(give('finder', `Do it. ${chat.word}`, { background: true }));
    });
    expect((await fixture.ask('PATCH', chat.path, { policy: 'interrupt' })).status).toBe(200);
    await chat.say();
    const { run } = await chat.post('wait');
    await chat.becomes('success');
    await until('it is told', async () => (await news(chat)).length === 1);
    busy.resolve();
    expect(await chat.answered(run!.id)).toBe('waited');
    await chat.rests();
    expect(
      (await chat.messages())
        .filter(({ role }) => role === 'assistant')
        .map(text)
        .filter((one) => one !== ''),
    ).toEqual(['begun', 'waited', 'told']);
  });

  test('a question, an answer, the end', async () => {
    const chat = await begin(
      (request) => (results(request).length === 0 ? question('Sure?') : final('sure')),
      { answers: true },
    );
    await chat.say();
    await chat.becomes('success');
    await chat.rests();
    expect((await news(chat)).map((one) => text(one).replace(/^Task.*\) /, ''))).toEqual([
      'waits for an answer. The sub-agent asks:\n\nSure?',
      'is done. Its result:\n\nsure',
    ]);
    expect(
      (await chat.messages())
        .filter(({ role }) => role === 'assistant')
        .map(text)
        .filter((one) => one.startsWith('replied')),
    ).toEqual(['replied: running']);
  });

  test('a failure, and a cancel by somebody else', async () => {
    const failing = await begin(() => ({
      error: { code: 'model_down', message: 'No model.', retryable: false },
    }));
    await failing.say();
    await failing.becomes('failed');
    await failing.rests();
    expect((await news(failing)).map(text)).toEqual([
      expect.stringContaining('failed: No model. (model_down)'),
    ]);
    expect(await saidLast(failing)).toContain('failed: No model.');
    const gate = Promise.withResolvers<void>();
    const stopped = await begin(async () => {
      await gate.promise;
      return final('x');
    });
    await stopped.say();
    const { id } = await stopped.becomes('running');
    expect(await cancelTask(parts(), { project, task: id })).toBe(true);
    expect(await cancelTask(parts(), { project, task: id })).toBe(false);
    await expect(cancelTask(parts(), { project: id, task: id })).rejects.toMatchObject({ kind: 'not_found' });
    await stopped.becomes('canceled');
    await stopped.rests();
    expect((await news(stopped)).map(text)).toEqual([expect.stringContaining('was canceled')]);
    expect(await saidLast(stopped)).toContain('was canceled');
    gate.resolve();
  });

  test('goes on where the run that gave it is canceled, and ends with all tasks of the chat, which start nothing', async () => {
    const gate = Promise.withResolvers<void>();
    const chat: Chat = await fixture.session('boss', async (request, who) => {
      if (who === 'finder') {
        await gate.promise;
        return final('x');
      }
      if (results(request).length > 0) await gate.promise;
      return calls(
        give('finder', `1 ${chat.word}`, { background: true }),
        give('finder', `2 ${chat.word}`, { background: true }),
      );
    });
    const { run } = await chat.post();
    await until(
      'both work',
      async () => (await chat.tasks()).filter(({ status }) => status === 'running').length === 2,
    );
    expect((await fixture.ask('POST', `/v1/runs/${run!.id}/cancel`, {})).status).toBe(200);
    await fixture.joined();
    const open = await chat.tasks();
    expect(open.map(({ status }) => status)).toEqual(['running', 'running']);
    expect((await cancelChatTasks(parts(), { project, chat: chat.id })).sort()).toEqual(
      open.map(({ id }) => id).sort(),
    );
    expect(await cancelChatTasks(parts(), { project, chat: chat.id })).toEqual([]);
    await chat.rests();
    expect((await chat.tasks()).map(({ status }) => status)).toEqual(['canceled', 'canceled']);
    expect(await news(chat)).toHaveLength(2);
    const runs = await fixture.rows(
      `select from troupe.runs r join troupe.sessions s on s.thread_id = r.thread_id where s.id = $1`,
      chat.id,
    );
    expect(runs).toHaveLength(1);
    gate.resolve();
  });

  test('an agent that gives a task whenever it is told of one comes to an end', async () => {
    await fixture.agent('eager', { delegates: {}, limits: { chainDepth: 3 } });
    const chat: Chat = await fixture.session('eager', (request, who) => {
      if (who === 'finder') return final('x');
      return results(request)[0]
        ? { text: 'once more' }
        : calls(give('finder', `again ${chat.word}`, { background: true }));
    });
    await chat.say();
    await until('it is told for the last time', async () => (await news(chat)).length === 4);
    await chat.rests();
    expect((await chat.tasks()).map(({ status }) => status)).toEqual(Array(4).fill('success'));
    expect((await chat.messages()).at(-1)!.role).toBe('system');
  });

  test('is only for those who talk with people', async () => {
    const chat: Chat = await fixture.session('lead', (request) => {
      const got = results(request);
      const isSub = request.tools.some(({ name }) => name === 'final_answer');
      if (got.length > 0) return { text: String(got[0]!.result ?? got[0]!.code) };
      return calls(give('lead', `x ${chat.word}`, isSub ? { background: true } : {}));
    });
    expect(await chat.say()).toBe('no_background');
  });

  test('a tool: called once, with its result as a message; one that cannot be called is told at once', async () => {
    const chat: Chat = await fixture.session('boss', (request) => {
      const got = results(request);
      if (lastSaid(request).startsWith('Task ')) return { text: lastSaid(request) };
      if (got.length > 0) return { text: got.map((one) => one.status ?? one.code).join() };
      return calls(
        call('create_task', { tool: 'lookup', args: { q: chat.word } }),
        call('create_task', { tool: 'lookup', args: {} }),
        call('create_task', { tool: 'create_agent', args: { type: 'x', instruction: 'y' } }),
        // It would write into a conversation of its own.
        call('create_task', { tool: 'write_file', args: { path: 'a.txt', content: 'a' } }),
      );
    });
    expect(await chat.say()).toBe('pending,invalid_arguments,unknown_tool,unknown_tool');
    expect(await chat.becomes('success')).toMatchObject({
      type: 'tool',
      name: 'tool:lookup',
      result: JSON.stringify({ echo: { q: chat.word } }),
      sub_agent_id: null,
    });
    await chat.rests();
    expect(await saidLast(chat)).toContain(`Its result:\n\n{"echo":{"q":"${chat.word}"}}`);
  });

  test('a tool that somebody must approve, and does not', async () => {
    const chat: Chat = await fixture.session('boss', (request) => {
      if (lastSaid(request).startsWith('Task ')) return { text: lastSaid(request) };
      return results(request).length > 0
        ? { text: 'begun' }
        : calls(call('create_task', { tool: 'guarded', args: { word: chat.word } }));
    });
    await chat.say();
    const { run_id } = await chat.becomes('running');
    await until(
      'it waits',
      async () => (await fixture.get<Run>(`/v1/runs/${run_id}`)).status === 'waiting_tool',
    );
    const inbox = await fixture.get<{ data: { callId: string }[] }>(`/v1/inbox?runId=${run_id}`);
    const [{ callId }] = inbox.data as [{ callId: string }];
    const rejected = await fixture.ask('POST', `/v1/runs/${run_id}/calls/${callId}/decision`, {
      decision: 'reject',
    });
    expect(rejected.status, JSON.stringify(rejected.body)).toBeLessThan(300);
    await chat.becomes('failed');
    await chat.rests();
    expect(await saidLast(chat)).toContain('failed:');
  });
});

describe('cancel', () => {
  test('of a task in the foreground: the agent goes on; of a tree: everything within ends', async () => {
    const gate = Promise.withResolvers<void>();
    const chat: Chat = await fixture.session('lead', async (request, who) => {
      const got = results(request);
      if (who === 'finder') {
        await gate.promise;
        return final('x');
      }
      if (got.length > 0) return { text: String(got[0]!.code) };
      const isSub = request.tools.some(({ name }) => name === 'final_answer');
      return calls(give(isSub ? 'finder' : 'lead', `x ${chat.word}`));
    });
    const { run } = await chat.post();
    await until(
      'both work',
      async () => (await chat.tasks()).map(({ status }) => status).join() === 'running,running',
    );
    const [outer] = await chat.tasks();
    await cancelTask(parts(), { project, task: outer!.id });
    expect(await chat.answered(run!.id)).toBe('task_canceled');
    await until(
      'all end',
      async () => (await chat.tasks()).map(({ status }) => status).join() === 'canceled,canceled',
    );
    gate.resolve();
  });

  test('of the run that waits: the task ends; one whose question was handed up goes on', async () => {
    const gate = Promise.withResolvers<void>();
    const chat: Chat = await fixture.session('boss', async (request, who) => {
      if (who === 'finder') {
        if (lastSaid(request).startsWith('ask')) return question('Well?');
        await gate.promise;
        return final('x');
      }
      if (results(request).length > 0) {
        await gate.promise;
        return { text: 'x' };
      }
      return calls(give('finder', `${lastSaid(request).split(' ')[0]} ${chat.word}`));
    });
    const first = await chat.post('work');
    await chat.becomes('running');
    await fixture.ask('POST', `/v1/runs/${first.run!.id}/cancel`, {});
    await chat.becomes('canceled');
    const second = await chat.post('ask');
    await until('it was handed up', async () => {
      const [call_] = await fixture.rows<{ status: string }>(
        `select status from troupe.tool_calls where run_id = $1`,
        second.run!.id,
      );
      return call_?.status === 'completed';
    });
    await fixture.ask('POST', `/v1/runs/${second.run!.id}/cancel`, {});
    await fixture.joined();
    expect((await chat.tasks()).map(({ status }) => status)).toEqual(['canceled', 'waiting']);
    // Deleting the session takes all of it away.
    expect((await fixture.ask('DELETE', chat.path)).status).toBe(204);
    expect(await chat.tasks()).toEqual([]);
    expect(
      await fixture.rows(
        'select from troupe.threads t where t.kind = $1 and not exists (select from troupe.sub_agents s where s.thread_id = t.id)',
        'sub_agent',
      ),
    ).toEqual([]);
    gate.resolve();
  });

  test('of a sub-agent that ends although one of its own still asks: nobody could answer that one', async () => {
    const chat: Chat = await fixture.session('lead', (request, who) => {
      const got = results(request);
      if (who === 'finder') return question('Which?');
      if (got.length > 0) return { text: String(got[0]!.result ?? 'I do not care') };
      const isSub = request.tools.some(({ name }) => name === 'final_answer');
      return calls(give(isSub ? 'finder' : 'lead', `x ${chat.word}`));
    });
    expect(await chat.say()).toBe('I do not care');
    await until(
      'it ends',
      async () => (await chat.tasks()).map(({ status }) => status).join() === 'success,canceled',
    );
  });
});
