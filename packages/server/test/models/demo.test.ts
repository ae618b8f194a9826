import { describe, expect, it } from 'vitest';
import type { ModelMessage } from '../../src/kernel/ports.ts';
import { createDemo } from '../../src/models/index.ts';
import { ask, buildRequest, buildTool, streamedText, user } from './ask.ts';

const demo = createDemo({ delayMs: 0 });

async function say(...messages: (string | ModelMessage)[]): Promise<string> {
  const said = messages.map((message) => (typeof message === 'string' ? user(message) : message));
  return (await ask(demo, buildRequest({ messages: said }))).answer.text;
}

const assistant = (text: string): ModelMessage => ({ role: 'assistant', text, calls: [] });

describe('what it is', () => {
  it.each(['who are you?', 'What are you', 'Are you an AI?', 'which model are you using?', 'what’s this?'])(
    'says honestly, asked "%s"',
    async (question) => {
      const text = await say(question);
      expect(text).toContain('not a language model');
      expect(text).toContain('add a model provider');
    },
  );

  it('says what it can do, and only what it can', async () => {
    const plain = await say('tell me a story');
    expect(plain).toContain('How much is 2+2?');
    expect(plain).not.toContain('delegate');
    const tools = [buildTool('create_agent'), buildTool('current_time'), buildTool('weather')];
    const { answer } = await ask(demo, buildRequest({ messages: [user('tell me a story')], tools }));
    expect(answer.text).toContain('delegate to researcher');
    expect(answer.text).toContain('What time is it?');
    expect(answer.text).toContain('`weather`');
  });

  it('names its tools when asked', async () => {
    const tools = Array.from({ length: 20 }, (_, index) => buildTool(`tool_${index}`));
    const { answer } = await ask(demo, buildRequest({ messages: [user('What tools do you have?')], tools }));
    expect(answer.text).toMatch(/`tool_0`, .*`tool_11` and 8 more\./);
    expect(await say('list your tools')).toBe('I have no tools at all.');
  });
});

describe('names', () => {
  it.each([
    ['my name is Ada', 'Ada'],
    ['Hi, my name is Ada Lovelace, what now?', 'Ada Lovelace'],
    ['My name is ada and I like sums', 'ada'],
    ['please call me Bob.', 'Bob'],
    ["I'm called Jean-Luc", 'Jean-Luc'],
    ['my name is O’Brien', "O'Brien"],
    ['my name is Żółć', 'Żółć'],
  ])('remembers "%s"', async (told, name) => {
    expect(await say(told)).toContain(`${name}.`);
    expect(await say(told, assistant('Nice.'), 'How much is 1+1?', assistant('2'), 'what is my name?')).toBe(
      `Your name is ${name}.`,
    );
  });

  it('takes the last one told', async () => {
    expect(await say('my name is Ada', 'my name is Bob', 'who am I?')).toBe('Your name is Bob.');
  });

  it('does not know what it was not told', async () => {
    expect(await say('what is my name?')).toContain('not told me');
    expect(await say('call me later', 'what is my name?')).toContain('not told me');
    expect(await say(assistant('my name is Demo'), 'what is my name?')).toContain('not told me');
  });

  it('tells speakers apart', async () => {
    const told = [user('my name is Ada', 'u1'), user('my name is Bob', 'u2')];
    expect(await say(...told, user('what is my name?', 'u1'))).toBe('Your name is Ada.');
    expect(await say(...told, user('what is my name?', 'u3'))).toBe('Your name is u3.');
  });

  it('greets by name', async () => {
    expect(await say('my name is Ada', 'hello')).toMatch(/^Hello, Ada!/);
    expect(await say('hello')).toMatch(/^Hello!/);
    expect(await say('thank you')).toBe('You are welcome.');
  });
});

describe('the answer', () => {
  it('comes word by word', async () => {
    const { answer, deltas } = await ask(demo, buildRequest({ messages: [user('who are you?')] }));
    expect(deltas.length).toBe(answer.text.split(' ').length);
    expect(deltas[0]).toEqual({ type: 'text', text: 'I ' });
  });

  it('comes in at most 200 pieces however long it is', async () => {
    const text = Array.from({ length: 3000 }, () => 'word').join(' ');
    const request = buildRequest({
      messages: [user(`call echo ${JSON.stringify({ text })}`)],
      tools: [buildTool('echo')],
    });
    const { answer, deltas } = await ask(demo, request);
    expect(answer.calls[0]!.arguments).toEqual({ text });
    expect(deltas.length).toBeLessThanOrEqual(200);
  });

  it.each([1, 3, 10])('is cut at %i tokens of four units', async (maxOutputTokens) => {
    const { answer, deltas } = await ask(
      demo,
      buildRequest({ messages: [user('who are you?')], maxOutputTokens }),
    );
    expect(answer.finishReason).toBe('length');
    expect(answer.text.length).toBe(4 * maxOutputTokens);
    expect(answer.usage.outputTokens).toBe(maxOutputTokens);
    expect(streamedText(deltas)).toBe(answer.text);
  });

  it('is never cut inside a character', async () => {
    const request = buildRequest({ messages: [user('my name is a𝒜𝒜𝒜𝒜𝒜𝒜𝒜𝒜')] });
    for (let maxOutputTokens = 1; maxOutputTokens < 20; maxOutputTokens++) {
      const { answer } = await ask(demo, { ...request, maxOutputTokens });
      expect(answer.text.isWellFormed()).toBe(true);
    }
  });

  it('counts tokens as documented', async () => {
    const request = buildRequest({
      system: '1234',
      messages: [user('2+2', 'me')],
      tools: [{ name: 'abc', description: 'de', inputSchema: {} }],
    });
    const { answer } = await ask(demo, request);
    expect(answer.text).toBe('2+2 = 4.');
    expect(answer.usage).toEqual({ inputTokens: Math.ceil((4 + 5 + 7) / 4), outputTokens: 2 });
  });

  it('is empty where nobody said anything, or it has answered already', async () => {
    expect(await say()).toBe('');
    expect(await say('hello', assistant('Hello!'))).toBe('');
  });

  it('answers the last message, past a remark of the system', async () => {
    expect(await say('1+1', assistant('2'), '2+3', { role: 'system', text: 'Be brief.' })).toBe('2+3 = 5.');
  });
});
