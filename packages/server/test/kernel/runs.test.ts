import { newId } from '@troupe/server';
import { type KernelFixture, openKernel, until, violations } from '@troupe/testing';
import { afterEach, describe, expect, inject, it } from 'vitest';

const postgresUrl = inject('postgresUrl');
let fixture: KernelFixture;

afterEach(async () => {
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

describe('a run', () => {
  it('goes from its message through tools to its answer, and leaves a complete record', async () => {
    fixture = await openKernel({
      postgresUrl,
      script: (request) =>
        request.step <= 2
          ? { calls: [{ name: 'lookup', arguments: { n: request.step } }] }
          : { text: 'Done.' },
      tools: { lookup: async (args) => ({ looked: args }) },
    });
    const snapshot = await fixture.snapshot({
      tools: [{ name: 'lookup', provider: 'code', effect: 'idempotent' }],
    });
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'Done.' }, error: null });

    const messages = await fixture.messages(ended.thread);
    expect(messages.map((message) => message.role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
    expect(messages[2]!.content).toEqual({ result: { looked: { n: 1 } }, error: null });
    const events = await fixture.events(ended.thread);
    expect(events.map((event) => event.type)).toEqual([
      'message.created',
      'run.queued',
      'run.started',
      ...['step.started', 'step.generated', 'message.created', 'tool.started'],
      ...['message.created', 'tool.completed'],
      ...['step.started', 'step.generated', 'message.created', 'tool.started'],
      ...['message.created', 'tool.completed'],
      ...['step.started', 'step.generated', 'message.created', 'run.completed'],
    ]);
    expect(await fixture.row(ended.run)).toMatchObject({
      status: 'completed',
      step: 3,
      epoch: 1,
      worker_id: null,
    });
  });

  it('runs all calls of one answer in parallel and waits for every one', async () => {
    let together = 0;
    let most = 0;
    fixture = await openKernel({
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
    const ended = await fixture.play(await fixture.snapshot({ tools: [{ name: 'slow', provider: 'code' }] }));
    expect(ended.status).toBe('completed');
    expect((await fixture.calls(ended.run)).map((call) => call.status)).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
  });

  it('started twice is one run; one message starts one run per entity', async () => {
    fixture = await openKernel({ postgresUrl, script: [{ text: 'hi' }] });
    const snapshot = await fixture.snapshot();
    const message = newId();
    const first = await fixture.play(snapshot, { text: 'x', message });
    const again = await fixture.kernel.start({
      project: fixture.ids.project,
      thread: first.thread,
      message: { id: message, role: 'user', content: { text: 'x' } },
      run: {
        id: newId(),
        door: 'plain',
        agent: fixture.ids.agent,
        entity: fixture.ids.entity,
        snapshot,
        triggerType: 'message',
        wallMs: 1000,
      },
    });
    expect(again).toMatchObject({ ok: true, duplicate: true, run: first.run });
    expect(await fixture.messages(first.thread)).toHaveLength(2);
  });

  it('keeps call ids apart where the model reuses them', async () => {
    fixture = await openKernel({
      postgresUrl,
      script: (request) =>
        request.step <= 2 ? { calls: [{ id: 'call_0', name: 'echo', arguments: {} }] } : { text: 'ok' },
      tools: { echo: () => 'x' },
    });
    const ended = await fixture.play(await fixture.snapshot({ tools: [{ name: 'echo', provider: 'code' }] }));
    expect((await fixture.calls(ended.run)).map((call) => call.call_id)).toEqual(['call_0', 'call_0_2']);
  });
});

describe('serial runs of a thread', () => {
  it('go one after the other, and each message is answered once', async () => {
    fixture = await openKernel({
      postgresUrl,
      script: (request) => ({ text: `answer to ${request.messages.at(-1)!.role}` }),
    });
    const snapshot = await fixture.snapshot();
    const thread = newId();
    const first = await fixture.play(snapshot, { text: 'one', run: { serial: true } });
    const item = (text: string) => ({
      project: fixture.ids.project,
      thread: first.thread,
      message: { id: newId(), role: 'user' as const, content: { text } },
      run: {
        id: newId(),
        door: 'plain',
        agent: fixture.ids.agent,
        entity: fixture.ids.entity,
        snapshot,
        triggerType: 'message',
        serial: true,
        wallMs: 60_000,
      },
    });
    const items = Array.from({ length: 10 }, (_, n) => item(`message ${n}`));
    await Promise.all(items.map((each) => fixture.kernel.start(each)));
    const ends = await Promise.all(items.map((each) => fixture.kernel.ended(each.run.id)));
    expect(ends.every((end) => end.status === 'completed')).toBe(true);
    expect(thread).toBeTruthy();
  });
});
