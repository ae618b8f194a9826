import { newId } from '@troupe/server';
import { Stage, until, violations } from '@troupe/testing';
import { afterEach, describe, expect, inject, it } from 'vitest';

const postgresUrl = inject('postgresUrl');
let stage: Stage;

afterEach(async () => {
  expect(await violations(stage.db.pool)).toEqual([]);
  await stage.close();
});

describe('a run', () => {
  it('goes from its message through tools to its answer, and leaves a complete record', async () => {
    stage = await Stage.open({
      postgresUrl,
      script: (request) =>
        request.step <= 2
          ? { calls: [{ name: 'lookup', arguments: { n: request.step } }] }
          : { text: 'Done.' },
      tools: { lookup: async (args) => ({ looked: args }) },
    });
    const snapshot = await stage.snapshot({
      tools: [{ name: 'lookup', provider: 'code', effect: 'idempotent' }],
    });
    const ended = await stage.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'Done.' }, error: null });

    const messages = await stage.messages(ended.thread);
    expect(messages.map((message) => message.role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
    expect(messages[2]!.content).toEqual({ result: { looked: { n: 1 } }, error: null });
    const events = await stage.events(ended.thread);
    expect(events.map((event) => event.type)).toEqual([
      'message.created',
      'run.queued',
      'run.started',
      ...['step.started', 'step.generated', 'tool.started', 'tool.completed'],
      ...['step.started', 'step.generated', 'tool.started', 'tool.completed'],
      ...['step.started', 'step.generated', 'message.created', 'run.completed'],
    ]);
    expect(await stage.row(ended.run)).toMatchObject({
      status: 'completed',
      step: 3,
      epoch: 1,
      worker_id: null,
    });
  });

  it('runs all calls of one answer in parallel and waits for every one', async () => {
    let together = 0;
    let most = 0;
    stage = await Stage.open({
      postgresUrl,
      script: [{ calls: [1, 2, 3].map((n) => ({ name: 'slow', arguments: { n } })) }, { text: 'all' }],
      tools: {
        slow: async () => {
          most = Math.max(most, ++together);
          await until('all three', () => most === 3);
          return --together;
        },
      },
    });
    const ended = await stage.play(await stage.snapshot({ tools: [{ name: 'slow', provider: 'code' }] }));
    expect(ended.status).toBe('completed');
    expect((await stage.calls(ended.run)).map((call) => call.status)).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
  });

  it('started twice is one run; one message starts one run per entity', async () => {
    stage = await Stage.open({ postgresUrl, script: [{ text: 'hi' }] });
    const snapshot = await stage.snapshot();
    const message = newId();
    const first = await stage.play(snapshot, 'x', { message });
    const again = await stage.kernel.start({
      project: stage.cast.project,
      thread: first.thread,
      message: { id: message, role: 'user', content: { text: 'x' } },
      run: {
        id: newId(),
        door: 'plain',
        agent: stage.cast.agent,
        entity: stage.cast.entity,
        snapshot,
        triggerType: 'message',
        wallMs: 1000,
      },
    });
    expect(again).toMatchObject({ ok: true, duplicate: true, run: first.run });
    expect(await stage.messages(first.thread)).toHaveLength(2);
  });

  it('keeps call ids apart where the model reuses them', async () => {
    stage = await Stage.open({
      postgresUrl,
      script: (request) =>
        request.step <= 2 ? { calls: [{ id: 'call_0', name: 'echo', arguments: {} }] } : { text: 'ok' },
      tools: { echo: () => 'x' },
    });
    const ended = await stage.play(await stage.snapshot({ tools: [{ name: 'echo', provider: 'code' }] }));
    expect((await stage.calls(ended.run)).map((call) => call.call_id)).toEqual(['call_0', 'call_0_2']);
  });
});

describe('serial runs of a thread', () => {
  it('go one after the other, and each message is answered once', async () => {
    stage = await Stage.open({
      postgresUrl,
      script: (request) => ({ text: `answer to ${request.messages.at(-1)!.role}` }),
    });
    const snapshot = await stage.snapshot();
    const thread = newId();
    const first = await stage.play(snapshot, 'one', { run: { serial: true } });
    const item = (text: string) => ({
      project: stage.cast.project,
      thread: first.thread,
      message: { id: newId(), role: 'user' as const, content: { text } },
      run: {
        id: newId(),
        door: 'plain',
        agent: stage.cast.agent,
        entity: stage.cast.entity,
        snapshot,
        triggerType: 'message',
        serial: true,
        wallMs: 60_000,
      },
    });
    const items = Array.from({ length: 10 }, (_, n) => item(`message ${n}`));
    await Promise.all(items.map((each) => stage.kernel.start(each)));
    const ends = await Promise.all(items.map((each) => stage.kernel.ended(each.run.id)));
    expect(ends.every((end) => end.status === 'completed')).toBe(true);
    expect(thread).toBeTruthy();
  });
});
