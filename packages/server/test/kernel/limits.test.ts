import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { call, codeTool, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
  fixture.tools.echo = (args) => args;
  fixture.tools.large = (args) => 'x'.repeat((args as { size: number }).size);
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

const tools = [codeTool('echo'), codeTool('large')];
const codes = async (run: string) =>
  (await fixture.calls(run)).map((each) => (each.error as { code: string } | null)?.code ?? each.status);

describe('a run may', () => {
  it('take so many steps; then it fails, and what it did stays readable', async () => {
    const snapshot = await fixture.agent(
      (request) => ({ calls: [call('echo', {}, `call ${request.step}`)] }),
      {
        tools,
        limits: { steps: 4 },
      },
    );
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({
      status: 'failed',
      error: { code: 'step_limit', message: expect.stringContaining('4') },
    });
    expect(fixture.requests(ended.run)).toHaveLength(4);
    expect(await codes(ended.run)).toEqual(Array(4).fill('completed'));
    expect(await fixture.types(ended.thread)).toContain('run.failed');
  });

  it('make so many calls in all; later ones are told so, and the run goes on', async () => {
    const snapshot = await fixture.agent(
      (request) =>
        request.step <= 3
          ? { calls: [1, 2].map((n) => call('echo', {}, `call ${request.step} ${n}`)) }
          : { text: 'enough' },
      { tools, limits: { toolCalls: 3 } },
    );
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'enough' } });
    expect(await codes(ended.run)).toEqual([
      ...Array(3).fill('completed'),
      ...Array(3).fill('tool_call_limit'),
    ]);
  });

  it('make so many calls at once; those beyond are told so', async () => {
    const snapshot = await fixture.agent(
      [{ calls: Array.from({ length: 6 }, (_, n) => call('echo', { n }, `call ${n}`)) }, { text: 'ok' }],
      { tools, limits: { fanOut: 4 } },
    );
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    expect(await codes(ended.run)).toEqual([
      ...Array(4).fill('completed'),
      'too_many_calls',
      'too_many_calls',
    ]);
    expect(fixture.shown(ended.run)).toMatchObject({ 'call 5': { code: 'too_many_calls' } });
  });

  it('use so many tokens: the answer is bounded by what is left, then it fails', async () => {
    const snapshot = await fixture.agent(
      (request) => ({
        calls: [call('echo', {}, `call ${request.step}`)],
        usage: { inputTokens: 40, outputTokens: 10 },
      }),
      { tools, limits: { tokens: 120 } },
    );
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'token_limit' } });
    expect(fixture.requests(ended.run).map((request) => request.maxOutputTokens)).toEqual([120, 70, 20]);
    expect(await fixture.row(ended.run)).toMatchObject({ input_tokens: 120, output_tokens: 30 });
  });

  it('say so much: a longer answer counts as a failure of the model', async () => {
    const snapshot = await fixture.agent([{ text: 'x'.repeat(2_000) }], { limits: { messageBytes: 1_000 } });
    const ended = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'answer_too_large' } });
    expect((await fixture.messages(ended.thread)).map((message) => message.role)).toEqual(['user']);
  });

  it('give a call so much, and take so much from it', async () => {
    const snapshot = await fixture.agent(
      [
        {
          calls: [
            call('echo', { text: 'x'.repeat(2_000) }, 'long arguments'),
            call('large', { size: 600 }, 'long output'),
            call('large', { size: 300 }, 'fits'),
          ],
        },
        { text: 'ok' },
      ],
      { tools, limits: { messageBytes: 1_000, toolOutputBytes: 500 } },
    );
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    expect(await codes(ended.run)).toEqual(['arguments_too_large', 'output_too_large', 'completed']);
    // What was too large is not kept either.
    expect(await fixture.calls(ended.run)).toMatchObject([{ args: {} }, { output: null }, {}]);
  });

  it('name its calls as it likes: the same id over and over stays apart', async () => {
    const snapshot = await fixture.agent(
      (request) =>
        request.step <= 6
          ? { calls: [call('echo', { n: request.step }, 'same'), call('echo', { n: -request.step }, 'same')] }
          : { text: 'ok' },
      { tools },
    );
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    const ledger = await fixture.calls(ended.run);
    expect(new Set(ledger.map((each) => each.call_id)).size).toBe(12);
    expect(ledger.map((each) => each.output)).toEqual([1, 2, 3, 4, 5, 6].flatMap((n) => [{ n }, { n: -n }]));
    // Each call was shown with its own result.
    const last = fixture.requests(ended.run).at(-1)!;
    const asked = last.messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
    const shown = fixture.shown(ended.run);
    for (const each of asked) expect(shown[each.id]).toEqual(each.arguments);
  });
});
