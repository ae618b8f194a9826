import { newId } from '@troupe/server';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RetryableError, TroupeError } from '../../src/base/index.ts';
import { createDemo, createProviders } from '../../src/models/index.ts';
import type { ProviderRecord, ProvidersOptions } from '../../src/models/providers/providers.ts';
import { retryAfterMs } from '../../src/models/providers/retry-after.ts';
import { ask, buildRequest, user } from './ask.ts';
import { chat, responses } from './wire/formats.ts';
import { stream, WireServer } from './wire/server.ts';

let wire: WireServer;
beforeAll(async () => {
  wire = await WireServer.open();
});
afterEach(() => {
  wire.heard.length = 0;
});
afterAll(() => wire.close());

const prices = { maxOutputTokens: 100, inputPrice: 0, outputPrice: 0 };
const choose = (provider: string) => ({ provider, model: 'm', ...prices });

function providersOf(rows: Partial<ProviderRecord>[], options: ProvidersOptions = {}) {
  const all = rows.map(
    (row): ProviderRecord => ({
      id: newId(),
      kind: 'openai_compatible',
      baseUrl: wire.url,
      apiKey: null,
      status: 'active',
      ...row,
    }),
  );
  const loads: string[] = [];
  const models = createProviders(
    {
      async load(id) {
        loads.push(id);
        return all.find((row) => row.id === id) ?? null;
      },
    },
    options,
  );
  return { models, rows: all, loads, ids: all.map((row) => row.id) };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: TroupeError) => error.code,
  );

describe('a provider that a snapshot names by its row', () => {
  it('is read when the model is called, once for many calls, and again after a while', async () => {
    const { models, rows, loads, ids } = providersOf([{}], { cacheMs: 60_000 });
    const model = models.resolve(choose(ids[0]!));
    expect(loads).toEqual([]);
    wire.replies(...[1, 2, 3].map(() => stream(chat.events({ text: ['ok'] }))));
    await Promise.all([ask(model, buildRequest()), ask(model, buildRequest())]);
    await ask(models.resolve(choose(ids[0]!)), buildRequest());
    expect(loads).toHaveLength(1);

    const impatient = providersOf([{}], { cacheMs: 0 });
    impatient.rows[0]!.status = 'disabled';
    const again = impatient.models.resolve(choose(impatient.ids[0]!));
    expect(await codeOf(ask(again, buildRequest()))).toBe('provider_disabled');
    impatient.rows[0]!.status = 'active';
    wire.replies(stream(chat.events({ text: ['ok'] })));
    expect((await ask(again, buildRequest())).answer.text).toBe('ok');
    expect(rows).toHaveLength(1);
  });

  it('is not there, is disabled, has no address, or has no key: each has its code', async () => {
    const { models, ids } = providersOf([
      { status: 'disabled' },
      { baseUrl: null },
      { kind: 'openai' },
      { kind: 'anthropic', baseUrl: null },
      { baseUrl: 'http://me:secret@127.0.0.1/v1' },
      { baseUrl: 'file:///etc/passwd' },
      { baseUrl: 'nowhere' },
      { apiKey: 'sk-secret\nx-other: 1' },
    ]);
    const code = (id: string) => codeOf(ask(models.resolve(choose(id)), buildRequest()));
    expect(await code(newId())).toBe('unknown_model');
    expect(await Promise.all(ids.map(code))).toEqual([
      ...['provider_disabled', 'base_url_required', 'model_auth', 'model_auth'],
      ...['base_url_required', 'base_url_required', 'base_url_required', 'model_auth'],
    ]);
    expect(wire.heard).toEqual([]);
  });

  it('that cannot be read now may be tried again, and the failure is not kept', async () => {
    let tries = 0;
    const id = newId();
    const models = createProviders({
      async load() {
        if (++tries === 1) throw new Error('connection lost');
        return { id, kind: 'openai_compatible', baseUrl: wire.url, apiKey: null, status: 'active' };
      },
    });
    const model = models.resolve(choose(id));
    const error = await ask(model, buildRequest()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).toMatchObject({ code: 'provider_unavailable' });
    wire.replies(stream(chat.events({ text: ['ok'] })));
    expect((await ask(model, buildRequest())).answer.text).toBe('ok');
  });

  it('needs no key where it is compatible', async () => {
    const { models, ids } = providersOf([{}]);
    wire.replies(stream(chat.events({ text: ['ok'] })));
    await ask(models.resolve(choose(ids[0]!)), buildRequest());
    expect(wire.heard[0]!.headers.authorization).toBeUndefined();
  });

  it('may be the demo', async () => {
    const demo = createDemo({ delayMs: 0 });
    const { models, ids } = providersOf([{ kind: 'demo', baseUrl: null }], { named: { demo: () => demo } });
    const { answer } = await ask(models.resolve(choose(ids[0]!)), buildRequest({ messages: [user('2+2?')] }));
    expect(answer.text).toContain('4');
  });
});

describe('keys of the environment', () => {
  const keys = { openai: 'sk-of-the-operator', anthropic: null };

  it('never go to an address that a row names', async () => {
    const { models, ids } = providersOf([{ kind: 'openai' }, { kind: 'openai', apiKey: 'sk-own' }], { keys });
    expect(await codeOf(ask(models.resolve(choose(ids[0]!)), buildRequest()))).toBe('model_auth');
    expect(wire.heard).toEqual([]);
    wire.replies(stream(responses.events({ text: ['ok'] })));
    await ask(models.resolve(choose(ids[1]!)), buildRequest());
    expect(wire.heard[0]!.headers.authorization).toBe('Bearer sk-own');
  });

  it('go where the operator says, for rows of the operator and of nobody else', async () => {
    const own = { kind: 'openai', baseUrl: null } as const;
    const addresses = { openai: wire.url, anthropic: null };
    const { models, ids } = providersOf([own, { ...own, ofOperator: true }], { keys, addresses });
    expect(await codeOf(ask(models.resolve(choose(ids[0]!)), buildRequest()))).toBe('model_auth');
    expect(wire.heard).toEqual([]);
    wire.replies(stream(responses.events({ text: ['ok'] })));
    await ask(models.resolve(choose(ids[1]!)), buildRequest());
    expect(wire.heard[0]!.headers.authorization).toBe('Bearer sk-of-the-operator');
  });

  it('make `openai` and `anthropic` known by name, each where its key is set', () => {
    const { models } = providersOf([], { keys, named: { demo: () => createDemo() } });
    expect(models.resolve(choose('openai')).generate).toBeTypeOf('function');
    expect(models.resolve(choose('demo')).generate).toBeTypeOf('function');
    for (const name of ['anthropic', 'nobody', 'constructor']) {
      const refused = expect.objectContaining({ code: 'unknown_model' });
      expect(() => models.resolve(choose(name))).toThrow(refused);
      expect(() => models.resolve(choose(name))).toThrow(TroupeError);
    }
    expect(() => models.resolve(choose('anthropic'))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('ANTHROPIC_API_KEY') }),
    );
  });
});

it('counts a picture at its dearest and never less than the text', () => {
  const { models } = providersOf([]);
  const model = models.resolve(choose(newId()));
  const most = (message: Parameters<typeof user>[0], pictures: number) =>
    model.maxInputTokens!(
      buildRequest({
        messages: [
          {
            role: 'user',
            text: message,
            parts: [
              { type: 'text', text: message },
              ...Array.from({ length: pictures }, () => ({
                type: 'image' as const,
                base64: 'A'.repeat(400_000),
                mediaType: 'image/png' as const,
              })),
            ],
          },
        ],
      }),
    );
  expect(most('🎭'.repeat(1000), 0)).toBeGreaterThan(4000);
  expect(most('hi', 2) - most('hi', 0)).toBe(100_000);
});

describe('how long a provider asks to wait', () => {
  const now = Date.parse('2026-11-16T12:00:00Z');
  it.each([
    [{}, undefined],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': 'Mon, 16 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Mon, 16 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': '-5' }, expect.toSatisfy((ms) => ms === undefined || ms >= 0)],
    [{ 'retry-after': '99999999999' }, 86_400_000],
    [{ 'retry-after-ms': '12.3' }, 13],
    [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
    [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20ms' }, 20],
    [{ 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-requests': '20s' }, undefined],
    [
      {
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '2026-11-16T12:00:09Z',
        'anthropic-ratelimit-tokens-remaining': '1000',
        'anthropic-ratelimit-tokens-reset': '2026-11-16T12:09:00Z',
      },
      9000,
    ],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now + 4000) }, 4000],
  ])('%j → %s', (headers: Record<string, string>, expected) => {
    expect(retryAfterMs(headers, now)).toEqual(expected);
  });
});
