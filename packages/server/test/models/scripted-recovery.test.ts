import { describe, expect, it } from 'vitest';
import type { ModelMessage, ModelRequest } from '../../src/kernel/ports.ts';
import { createScripted, type Script } from '../../src/models/index.ts';
import { afterTools, ask, buildRequest, user } from './ask.ts';

// Each step is answered by a model made anew, as if every step ran in another process.

const TURNS: Script = [
  { text: 'first', calls: [{ name: 'a' }, { name: 'b' }] },
  { text: 'second', calls: [{ name: 'a' }] },
  { text: 'third' },
];

async function runEachStepElsewhere(start: ModelRequest, modelName: string, scripts: Record<string, Script>) {
  const texts: string[] = [];
  let request = start;
  for (;;) {
    const { answer } = await ask(createScripted(scripts).provider(modelName), request);
    texts.push(answer.text);
    if (answer.calls.length === 0) return { texts, request };
    request = afterTools(request, answer, []);
  }
}

describe('a script goes on in another process', () => {
  it.each([
    ['registered by name', buildRequest(), 'named', { named: TURNS }],
    [
      'carried by the message',
      buildRequest({ messages: [user(`script:${JSON.stringify(TURNS)}`)] }),
      'x',
      {},
    ],
    ['carried by the model name', buildRequest(), `script:${JSON.stringify(TURNS)}`, {}],
    [
      'carried behind a label',
      buildRequest({ messages: [user(`[NEW] Ada (human): script: ${JSON.stringify(TURNS)} please`)] }),
      'x',
      {},
    ],
  ])('%s', async (_, request, modelName, scripts) => {
    const { texts } = await runEachStepElsewhere(request, modelName, scripts);
    expect(texts).toEqual(['first', 'second', 'third']);
  });

  it('gives the same answer, with the same call ids, to the same request', async () => {
    const [one, other] = [createScripted(TURNS), createScripted(TURNS)];
    const first = await ask(one.provider('x'), buildRequest());
    expect((await ask(other.provider('x'), buildRequest())).answer).toEqual(first.answer);
  });

  it('starts again in the next run', async () => {
    const scripts = { named: TURNS };
    const { request } = await runEachStepElsewhere(buildRequest(), 'named', scripts);
    const done: ModelMessage = { role: 'assistant', text: 'third', calls: [] };
    const next = { ...request, messages: [...request.messages, done, user('again')], step: 1 };
    expect((await runEachStepElsewhere(next, 'named', scripts)).texts).toEqual(['first', 'second', 'third']);
  });

  it('goes on with a carried script when a message without one steers the run', async () => {
    const request = buildRequest({ messages: [user(`script:${JSON.stringify(TURNS)}`)] });
    const { answer } = await ask(createScripted().provider('x'), request);
    const steered = afterTools(request, answer, []);
    steered.messages.push(user('rather quickly'));
    const second = await ask(createScripted().provider('x'), steered);
    expect(second.answer.text).toBe('second');
  });

  it('goes on with a registered script when a message steers the run, or the history is cut', async () => {
    const { answer } = await ask(createScripted(TURNS).provider('x'), buildRequest());
    const steered = afterTools(buildRequest(), answer, []);
    steered.messages.push(user('rather quickly'));
    expect((await ask(createScripted(TURNS).provider('x'), steered)).answer.text).toBe('second');
    const cut = { ...steered, messages: steered.messages.slice(-1) };
    expect((await ask(createScripted(TURNS).provider('x'), cut)).answer.text).toBe('second');
  });

  it('starts a script that a steering message carries', async () => {
    const { answer } = await ask(createScripted(TURNS).provider('x'), buildRequest());
    const steered = afterTools(buildRequest(), answer, []);
    steered.messages.push(user('script:[{"text":"instead"}]'));
    expect((await ask(createScripted(TURNS).provider('x'), steered)).answer.text).toBe('instead');
  });

  it('lets the last message that carries a script win over the one before and over the name', async () => {
    const messages = [user('script:[{"text":"old"}]'), user('script:[{"text":"new"}]')];
    const model = createScripted([{ text: 'fallback' }]).provider('x');
    expect((await ask(model, buildRequest({ messages }))).answer.text).toBe('new');
    const plain = buildRequest({ messages: [user('script:[{"text":"old"}]'), user('hello')] });
    expect((await ask(model, plain)).answer.text).toBe('fallback');
  });

  it('does not mistake words for a script', async () => {
    const model = createScripted([{ text: 'fallback' }]).provider('x');
    for (const text of ['my script: it broke', 'javascript:[1]', 'script:']) {
      expect((await ask(model, buildRequest({ messages: [user(text)] }))).answer.text).toBe('fallback');
    }
  });
});
