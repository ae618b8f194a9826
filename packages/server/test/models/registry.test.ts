import type { SnapshotModel } from '@troupe/protocol';
import { describe, expect, it } from 'vitest';
import { TroupeError } from '../../src/base/index.ts';
import { createDemo, createScripted } from '../../src/models/index.ts';
import { createModels } from '../../src/models/registry.ts';
import { ask, buildRequest } from './ask.ts';

function snapshot(provider: string, model = 'any'): SnapshotModel {
  return { provider, model, maxOutputTokens: 100, inputPrice: 0, outputPrice: 0 };
}

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('createModels', () => {
  it('resolves by provider and hands the model name on', async () => {
    const scripted = createScripted({ first: [{ text: 'one' }], second: [{ text: 'two' }] });
    const models = createModels({ demo: () => createDemo({ delayMs: 0 }), scripted: scripted.provider });
    const { answer } = await ask(models.resolve(snapshot('scripted', 'second')), buildRequest());
    expect(answer.text).toBe('two');
    const sum = await ask(
      models.resolve(snapshot('demo')),
      buildRequest({ messages: [{ role: 'user', text: '2+2' }] }),
    );
    expect(sum.answer.text).toContain('4');
  });

  it.each(['openai', '', 'constructor', '__proto__', 'toString'])(
    'refuses the unknown provider "%s"',
    (provider) => {
      const models = createModels({ demo: () => createDemo(), scripted: createScripted().provider });
      const error = errorOf(() => models.resolve(snapshot(provider, 'gpt')));
      expect(error).toBeInstanceOf(TroupeError);
      expect(error).toMatchObject({ code: 'unknown_model', hint: 'Known providers: demo, scripted.' });
      expect((error as Error).message).toContain(`"${provider}"`);
      expect((error as Error).message).toContain('"gpt"');
    },
  );

  it('says so where there is no provider at all', () => {
    expect(errorOf(() => createModels({}).resolve(snapshot('demo')))).toMatchObject({
      code: 'unknown_model',
      hint: 'No provider is configured.',
    });
  });
});
