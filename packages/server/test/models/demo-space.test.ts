import { describe, expect, it } from 'vitest';
import type { ModelMessage, ModelRequest } from '../../src/kernel/ports.ts';
import { createDemo } from '../../src/models/index.ts';
import { afterTools, ask, buildRequest, buildTool, user } from './ask.ts';

const demo = createDemo({ delayMs: 0 });
const SEND = buildTool('send_message', { text: { type: 'string' } }, ['text']);
const SYSTEM = '# IDENTITY\nName: Demo Agent\nEntity: 1234\n';

function inSpace(message: string | ModelMessage, changes: Partial<ModelRequest> = {}): ModelRequest {
  const messages = [typeof message === 'string' ? user(message) : message];
  return buildRequest({ system: SYSTEM, messages, tools: [SEND, buildTool('noop')], ...changes });
}

/** What it sends to the space; undefined = it is silent. */
async function sent(request: ModelRequest): Promise<unknown> {
  const { answer } = await ask(demo, request);
  expect(answer.text).toBe('');
  if (answer.calls.length === 0) return undefined;
  expect(answer.calls).toHaveLength(1);
  expect(answer.calls[0]!.name).toBe('send_message');
  return (answer.calls[0]!.arguments as { text: unknown }).text;
}

describe('in a space', () => {
  it('speaks by send_message, and has nothing to add once it is sent', async () => {
    const request = inSpace('how much is 2+2?');
    expect(await sent(request)).toBe('2+2 = 4.');
    const { answer } = await ask(demo, request);
    const after = afterTools(request, answer, [{ output: { success: true } }]);
    expect((await ask(demo, after)).answer).toMatchObject({ text: '', calls: [], finishReason: 'stop' });
  });

  it('takes its turn in the words of its prompt when it is addressed, and hands over', async () => {
    const system = `${SYSTEM}When it is your turn, say: "The hall costs 400." Then hand over to @Bo.\n`;
    const from = { role: 'user', text: 'Music is 100. @Demo, what do you say?', name: 'Cy (agent)' } as const;
    expect(await sent(inSpace(from, { system }))).toBe('The hall costs 400. @Bo, what do you say?');
    expect(await sent(inSpace({ ...from, text: 'Music is 100. @Bo?' }, { system }))).toBeUndefined();
    expect(await sent(inSpace('@Demo how much is 2+2?', { system }))).toBe('2+2 = 4.');
  });

  it('does not try again when it cannot send', async () => {
    const request = inSpace('how much is 2+2?');
    const { answer } = await ask(demo, request);
    const after = afterTools(request, answer, [{ output: 'Enter a space first.', isError: true }]);
    expect((await ask(demo, after)).answer).toMatchObject({
      text: '`send_message` failed: Enter a space first.',
      calls: [],
    });
  });

  it('calls a tool first, then tells the space, then is done', async () => {
    const request = inSpace('call noop {}');
    const first = (await ask(demo, request)).answer;
    expect(first.calls.map((call) => call.name)).toEqual(['noop']);
    const second = afterTools(request, first, [{ output: 'ok' }]);
    expect(await sent(second)).toBe('`noop` answered: ok.');
    const third = afterTools(second, (await ask(demo, second)).answer, [{ output: true }]);
    expect(await sent(third)).toBeUndefined();
  });

  it.each([
    '@bob how much is 2+2?',
    '@Bob, @Carol: how much is 2+2?',
    '@demolition how much is 2+2?',
    'Please be quiet, Demo',
    'stay silent for now',
    "don't reply to this: 2+2",
    'how much is 2+2? Say nothing.',
  ])('is silent: %s', async (text) => {
    expect(await sent(inSpace(text))).toBeUndefined();
  });

  it.each([
    '@demo how much is 2+2?',
    '@Demo-Agent how much is 2+2?',
    '@DemoAgent, how much is 2+2?',
    '@bob and @demo: how much is 2+2?',
    '@everyone how much is 2+2?',
    'how much is 2+2? (not for @bob)',
    'write to a@b.example: how much is 2+2?',
  ])('speaks: %s', async (text) => {
    expect(await sent(inSpace(text))).toBe('2+2 = 4.');
  });

  it.each([
    ['You are Ada, an agent.', '@ada 1+1', true],
    ['You are "Grace Hopper".', '@GraceHopper 1+1', true],
    ['You are a helpful assistant.', '@a 1+1', false],
    ['', '@demo 1+1', false],
  ])('learns its name from "%s"', async (system, text, speaks) => {
    expect((await sent(inSpace(text, { system }))) !== undefined).toBe(speaks);
  });

  it('answers agents only when they address it', async () => {
    expect(await sent(inSpace('Bob (agent): how much is 2+2?'))).toBeUndefined();
    expect(await sent(inSpace(user('how much is 2+2?', 'Bob (agent)')))).toBeUndefined();
    expect(await sent(inSpace(user('@demo how much is 2+2?', 'Bob (agent)')))).toBe('2+2 = 4.');
    expect(await sent(inSpace(user('how much is 2+2?', 'Ada (human)')))).toBe('2+2 = 4.');
  });

  it('hears the last speaker of a history in the message', async () => {
    const history = [
      '[SEEN] 0a1b2c3d 12:00 Ada (human): how much is 1+1?',
      '[NEW] 0a1b2c3e 12:01 Grace (human): my name is Grace,',
      'and how much is 7*7?',
    ];
    expect(await sent(inSpace(history.join('\n')))).toBe('7*7 = 49.');
  });

  it('hears the last new line of a history in the system prompt', async () => {
    const system = `${SYSTEM}\n# HISTORY\n[SEEN] a Ada (human): 1+1\n[NEW] b Ada (human): "how much is 7*8?"\n\n# YOUR SPACES`;
    expect(await sent(inSpace('Execute this run.', { system }))).toBe('7*8 = 56.');
    expect(await sent(inSpace(user('3+3', 'Ada'), { system }))).toBe('3+3 = 6.');
  });

  describe('as the door of spaces tells it', () => {
    const told = (type: string, text: string, since = '') =>
      [
        'IDENTITY:\n- name: "Ada"\n- entityId: 1\n',
        `TRIGGER:\n- type: space_message\n- space: "Launch" (2)\n- sender: "Grace \\"G\\" Hopper" (${type}, 3)`,
        `- message: ${JSON.stringify(text)}\n- messageId: 4\n`,
        `HISTORY of "Launch" (2), oldest first.\n[NEW] [0a1b2c3d] 12:00 Grace (${type}): ${JSON.stringify(text)}  <== TRIGGER${since}`,
      ].join('\n');
    const answered = '\n[NEW] [0a1b2c3e] 12:01 Bo (agent): "2+2 = 4."';

    it('answers the person whose message began the run, whatever agents said since', async () => {
      const system = told('human', 'How much\nis 2+2? "Please"', answered);
      expect(await sent(inSpace('Carry out this run now.', { system }))).toBe('2+2 = 4.');
    });

    it('is silent where an agent began it, unless addressed', async () => {
      expect(
        await sent(inSpace('Carry out this run now.', { system: told('agent', 'How much is 2+2?') })),
      ).toBeUndefined();
      const system = told('agent', '@Ada how much is 2+2?');
      expect(await sent(inSpace('Carry out this run now.', { system }))).toBe('2+2 = 4.');
    });

    it('offers what is of use to people, by their name', async () => {
      const tools = [SEND, ...['enter_space', 'set_memories', 'weather'].map((name) => buildTool(name))];
      const said = await sent(inSpace('Carry out this run now.', { system: told('human', 'Hello!'), tools }));
      expect(said).toMatch(/^Hello, Grace "G" Hopper! I can .*`weather`/);
      expect(said).not.toMatch(/enter_space|set_memories|remember/);
    });
  });

  it('shortens what it sends to what it may write', async () => {
    const request = inSpace('hello', { maxOutputTokens: 12 });
    const { answer } = await ask(demo, request);
    expect(answer.finishReason).toBe('length');
    expect(answer.usage.outputTokens).toBeLessThanOrEqual(12);
    expect(await sent(request)).toMatch(/^Hello! I can/);
    expect(await sent({ ...request, maxOutputTokens: 2 })).toBeUndefined();
  });

  it('answers in text where it may use no tools', async () => {
    const { answer } = await ask(demo, inSpace('how much is 2+2?', { toolChoice: 'none' }));
    expect(answer).toMatchObject({ text: '2+2 = 4.', calls: [] });
  });

  it('is not silenced outside a space', async () => {
    const { answer } = await ask(demo, inSpace('@bob be quiet: how much is 2+2?', { tools: [] }));
    expect(answer.text).toBe('2+2 = 4.');
  });
});
