import type { Json, JsonObject } from '@troupe/protocol';
import { violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, NetworkFixture, respond, route, type Say, turns } from './fixture.ts';

// What the policy of a network says binds its runs; what its log policy says is what later agents read.

let fixture: NetworkFixture;
let made = 0;
beforeAll(async () => {
  fixture = await NetworkFixture.open();
  await fixture.done('POST', '/v1/tools', { name: 'look', kind: 'echo' });
});
afterAll(async () => {
  expect(await violations(fixture.server.db.pool)).toEqual([]);
  await fixture.server.close();
});

const network = (more: JsonObject) =>
  fixture.network({
    name: `Policy ${++made}`,
    tools: [{ key: 'look' }],
    agents: [
      { key: 'front', isDefault: true, prompt: 'I am front.', tools: ['look'], routes: ['writer'] },
      { key: 'writer', prompt: 'I am writer.', tools: ['look'], routes: ['front'], allowRespond: true },
    ],
    ...more,
  });
const bound = async (policy: JsonObject, say: Say) => fixture.play(await network({ policy }), say);
const forth: Say = (_, agent) => route(agent === 'front' ? 'writer' : 'front');

describe('each limit binds', () => {
  test('maxSteps: routes without end come to one, and nothing more is asked', async () => {
    const { run, shown } = await bound({ maxSteps: 4 }, forth);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'step_limit' } });
    expect([run.steps.length, shown.length]).toEqual([4, 4]);
    // As many as there are, the last of which may respond.
    const just = await bound({ maxSteps: 2 }, turns(route('writer'), respond('in time')));
    expect(just.invoked).toMatchObject({ status: 'completed', response: { message: 'in time' } });
  });

  test('retries: as many refusals in a row as it says, none with 0', async () => {
    for (const retries of [0, 2]) {
      const { run, shown, events } = await bound({ retries }, turns(route('nobody')));
      expect(run).toMatchObject({ status: 'failed', error: { code: 'too_many_refusals' } });
      expect(shown).toHaveLength(retries + 1);
      expect(events.filter(({ type }) => type === 'decision.refused')).toHaveLength(retries + 1);
      // Each refusal is read once: as many as came before.
      for (const [before, { messages }] of shown.entries())
        expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(before);
    }
  });

  test('toolCalls: the call that is one too many is not made', async () => {
    const looking = turns(
      call('look', { n: 1 }),
      call('look', { n: 2 }),
      call('look', { n: 3 }),
      route('writer'),
      respond('with two'),
    );
    const { run, shown } = await bound({ toolCalls: 2 }, looking);
    expect(run.status).toBe('completed');
    expect(run.calls.map(({ status }) => status)).toEqual(['completed', 'completed', 'failed']);
    expect(run.calls[2]).toMatchObject({ output: null, error: { code: 'tool_call_limit' } });
    expect(shown[3]!.messages.at(-1)).toMatchObject({ role: 'tool', isError: true });
  });

  test('modelTries and retryBackoffMs: how often a model is asked, and how long it is left alone', async () => {
    const askedAt: number[] = [];
    const down: Say = () => {
      askedAt.push(performance.now());
      return { error: { code: 'down', message: 'Down.', retryable: true } };
    };
    const { run, shown } = await bound({ modelTries: 2, retryBackoffMs: 0 }, down);
    expect(run).toMatchObject({ status: 'failed' });
    expect(shown).toHaveLength(2);
    const patient = await bound({ modelTries: 2, retryBackoffMs: 1_500 }, down);
    expect(patient.shown).toHaveLength(2);
    expect(askedAt[3]! - askedAt[2]!).toBeGreaterThan(400);
  });

  test('modelTimeoutMs and wallMs: a model that never answers is not waited for', async () => {
    const never: Say = () => ({ gate: new Promise<void>(() => {}), text: 'never' });
    const [slow, late] = await Promise.all([
      bound({ modelTimeoutMs: 1_000, modelTries: 1 }, never),
      bound({ wallMs: 1_000 }, never),
    ]);
    expect(slow.run).toMatchObject({ status: 'failed', error: { code: 'model_timeout' } });
    expect(late.run).toMatchObject({ status: 'canceled', cancelReason: 'timeout' });
  });

  test('tokens: of all agents together', async () => {
    const costly = (turn: ReturnType<typeof call>) => ({
      ...turn,
      usage: { inputTokens: 60, outputTokens: 10 },
    });
    const { run } = await bound({ tokens: 100 }, (request, agent) =>
      costly(forth(request, agent) as ReturnType<typeof call>),
    );
    expect(run).toMatchObject({ status: 'failed', error: { code: expect.stringMatching(/token/) } });
    expect(run.steps).toHaveLength(2);
  });
});

describe('what of a call the next agent reads', () => {
  const args: JsonObject = {
    user: { name: 'Ann', tags: ['old', 'new'], 'a.b': 1 },
    text: 'x'.repeat(400),
    list: [{ id: 1 }, { id: 2 }],
    n: null,
  };
  async function line(logPolicy: JsonObject, given: Json = args): Promise<string> {
    const id = await network({ logPolicy });
    const { shown } = await fixture.play(id, turns(call('look', given), route('writer'), respond('ok')));
    const told = (shown.at(-1)!.messages[0] as { text: string }).text;
    return /^1\. (.*)$/m.exec(told)![1]!;
  }

  test('paths with dots and brackets, under their labels; what is not there is left out', async () => {
    const told = await line({
      tools: {
        LOOK: {
          request: [
            { path: 'user.name', label: 'who' },
            { path: 'user.tags[1]' },
            { path: 'list[0].id', label: 'first' },
            { path: 'nothing.here', label: 'absent' },
            { path: 'list[9].id' },
            { path: 'n' },
          ],
          response: [{ path: 'echo.list[1]', label: 'second' }],
        },
      },
    });
    expect(told).toBe('look(who=Ann, user.tags[1]=new, first=1, n=null) → second={"id":2}');
  });

  test('maxChars of a path and of all; 0 is all of it', async () => {
    const part = (maxChars?: number) => ({
      tools: {
        look: { request: [{ path: 'text', label: 't', ...(maxChars === undefined ? {} : { maxChars }) }] },
      },
      defaults: { requestMaxChars: 20, responseMaxChars: 10 },
    });
    expect(await line(part(3))).toBe('look(t=xxx…) → {"echo":{"…');
    expect(await line(part())).toContain(`look(t=${'x'.repeat(20)}…)`);
    expect(await line(part(0))).toContain(`look(t=${'x'.repeat(400)})`);
    const all = await line({ defaults: { requestMaxChars: 0, responseMaxChars: 0 } });
    const [, request, response] = /^look\((.*)\) → (.*)$/.exec(all)!;
    expect([JSON.parse(request!), JSON.parse(response!)]).toEqual([args, { echo: args }]);
  });

  test('where no path leads anywhere, the beginning of the whole', async () => {
    const nowhere = { tools: { look: { request: [{ path: 'x' }], response: [{ path: 'y[0]' }] } } };
    const told = await line(
      { ...nowhere, defaults: { requestMaxChars: 12, responseMaxChars: 8 } },
      { a: 'short one' },
    );
    expect(told).toBe('look({"a":"short …) → {"echo":…');
  });
});
