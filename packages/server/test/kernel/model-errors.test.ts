import { until } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { RetryableError } from '../../src/base/errors.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';
import { call, codeTool, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'));
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

const busy = (more: object = {}): Turn => ({
  error: { code: 'overloaded', message: 'Come back later.', retryable: true, ...more },
});
const limits = { modelTries: 3, retryBackoffMs: 20 };
const stepErrors = async (thread: string) =>
  (await fixture.events(thread)).flatMap(({ type, data }) => (type === 'step.error' ? [data!] : []));

describe('a model that fails', () => {
  it('is tried again after a growing pause, and the run goes on as if nothing had been', async () => {
    const snapshot = await fixture.agent((_request, attempt) => (attempt <= 2 ? busy() : { text: 'there' }), {
      limits,
    });
    const { run, thread, ...ended } = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'there' } });
    expect(await stepErrors(thread)).toMatchObject([
      { code: 'overloaded', attempt: 1, retryInMs: 20 },
      { code: 'overloaded', attempt: 2, retryInMs: 40 },
    ]);
    expect(await fixture.row(run)).toMatchObject({ error: null, attempt: 0 });
    expect(new Set(fixture.requests(run).map((request) => request.requestKey)).size).toBe(1);
  });

  it('waits as long as the provider asks; no place is held meanwhile', async () => {
    const asked: number[] = [];
    const snapshot = await fixture.agent(
      () => {
        asked.push(performance.now());
        return asked.length === 1 ? busy({ retryAfterMs: 400 }) : { text: 'ok' };
      },
      { limits },
    );
    const { run, thread } = await fixture.start(snapshot);
    await until('the worker has let go of it', () => asked.length === 1 && fixture.kernel.worker!.load === 0);
    expect((await fixture.row(run)).status).toBe('queued');
    await fixture.ended(run);
    expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(395);
    expect(await stepErrors(thread)).toMatchObject([{ retryInMs: 400 }]);
  });

  it('is left for the next of the list when its tries are used up, then the run fails readably', async () => {
    for (const name of ['second', 'third']) fixture.scripted.add(name, () => busy({ code: `${name}_down` }));
    const snapshot = await fixture.agent(() => busy(), {
      models: ['second', 'third'],
      limits: { ...limits, modelTries: 2 },
    });
    const { run, thread, ...ended } = await fixture.play(snapshot);
    expect(ended).toMatchObject({
      status: 'failed',
      error: { code: 'third_down', message: 'Come back later.', retryable: true },
    });
    expect(fixture.requests(run).map((request) => request.model.replace(/ .*/, ''))).toEqual([
      ...['script', 'script', 'second', 'second', 'third', 'third'],
    ]);
    expect((await stepErrors(thread)).map((data) => data.fallbackTo ?? data.retryInMs ?? 'end')).toEqual([
      ...[20, 1, 20, 2, 20, 'end'],
    ]);
  });

  it('that cannot be helped by another try is left at once; the fallback answers', async () => {
    fixture.scripted.add('backup', [{ text: 'backup' }]);
    const snapshot = await fixture.agent(
      [{ error: { code: 'no_key', message: 'No key.', retryable: false } }],
      {
        models: ['backup'],
        limits,
      },
    );
    const { run, ...ended } = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'backup' } });
    expect(fixture.requests(run)).toHaveLength(2);
    const { rows } = await fixture.db.pool.query('select model from troupe.run_steps where run_id = $1', [
      run,
    ]);
    expect(rows).toEqual([{ model: 'backup' }]);
  });

  it('that asks for more patience than there is, is left for the next of the list', async () => {
    fixture.scripted.add('patient', [{ text: 'at once' }]);
    const snapshot = await fixture.agent(() => busy({ retryAfterMs: 3_600_000 }), {
      models: ['patient'],
      limits,
    });
    expect(await fixture.play(snapshot)).toMatchObject({ status: 'completed', outcome: { text: 'at once' } });
  });

  it('stays left: later steps go on with the fallback', async () => {
    fixture.tools.noop = () => null;
    fixture.scripted.add('fallback', (request) =>
      request.step === 1 ? { calls: [call('noop')] } : { text: `step ${request.step}` },
    );
    const snapshot = await fixture.agent([{ error: { code: 'gone', message: 'gone', retryable: false } }], {
      models: ['fallback'],
      tools: [codeTool('noop')],
    });
    const { run, ...ended } = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'step 2' } });
    expect(fixture.requests(run).map((request) => request.model)).toEqual([
      expect.any(String),
      'fallback',
      'fallback',
    ]);
  });

  it('in any other way counts as one that may be tried again', async () => {
    let tries = 0;
    fixture.others.odd = {
      generate: async () => {
        tries++;
        if (tries === 1) throw new TypeError('fetch failed');
        if (tries === 2) throw 'a string';
        if (tries === 3) throw new RetryableError('slow_down', 'Slow down.', { retryAfterMs: 1 });
        return {
          text: 'at last',
          calls: [],
          finishReason: 'stop',
          usage: { inputTokens: 1, outputTokens: 1 },
        };
      },
    };
    const snapshot = await fixture.snapshot({
      models: [fixture.model('other:odd')],
      limits: { modelTries: 5, retryBackoffMs: 1 },
    });
    const { thread, ...ended } = await fixture.play(snapshot);
    expect(ended).toMatchObject({ status: 'completed' });
    expect(await stepErrors(thread)).toMatchObject([
      { code: 'model_error', message: 'fetch failed' },
      { code: 'model_error', message: 'a string' },
      { code: 'slow_down' },
    ]);
  });

  it('is not known here: the run fails with that code', async () => {
    const snapshot = await fixture.snapshot({ models: [{ provider: 'nobody', model: 'x' }] });
    expect(await fixture.play(snapshot)).toMatchObject({
      status: 'failed',
      error: { code: 'unknown_model' },
    });
  });
});
