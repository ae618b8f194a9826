import type { Json, JsonObject } from '@troupe/protocol';
import { describe, expect, it } from 'vitest';
import type { ModelMessage, ModelTool } from '../../src/kernel/ports.ts';
import { createDemo } from '../../src/models/index.ts';
import { afterTools, ask, buildRequest, buildTool, user } from './ask.ts';

const demo = createDemo({ delayMs: 0 });
const WEATHER = buildTool('weather', {
  city: { type: 'string' },
  days: { type: 'integer' },
  code: { type: 'string' },
});
const NOOP = buildTool('noop');
const CLOCK = buildTool('current_time', { timezone: { type: 'string' } });

async function answerTo(text: string, tools: ModelTool[], toolChoice: 'auto' | 'none' = 'auto') {
  return (await ask(demo, buildRequest({ messages: [user(text)], tools, toolChoice }))).answer;
}

async function callsFor(text: string, tools: ModelTool[]): Promise<[string, Json][]> {
  const answer = await answerTo(text, tools);
  expect(answer).toMatchObject({ text: '', finishReason: 'tool_calls' });
  return answer.calls.map((call) => [call.name, call.arguments]);
}

/** What it says after its calls came to these ends. */
async function saysAfter(text: string, tools: ModelTool[], ...ends: { output: Json; isError?: boolean }[]) {
  const request = buildRequest({ messages: [user(text)], tools });
  const { answer } = await ask(demo, request);
  return (await ask(demo, afterTools(request, answer, ends))).answer;
}

describe('tools called by name', () => {
  it.each<[string, [string, Json][]]>([
    ['use weather with {"city":"Rome"}', [['weather', { city: 'Rome' }]]],
    ['call weather {"city":"Rome","at":{"lat":1}}', [['weather', { city: 'Rome', at: { lat: 1 } }]]],
    ['please call the `weather` tool with arguments {"city":"}"}', [['weather', { city: '}' }]]],
    ['invoke weather: {"city":"R\\"o"}', [['weather', { city: 'R"o' }]]],
    ['call weather city=Rome days=2', [['weather', { city: 'Rome', days: 2 }]]],
    [
      'call weather city="New York", days=2 and code=007.',
      [['weather', { city: 'New York', days: 2, code: '007' }]],
    ],
    ['call noop a=true b=null c=-1.5 d=x', [['noop', { a: true, b: null, c: -1.5, d: 'x' }]]],
    ['call noop', [['noop', {}]]],
    ['Call Noop.', [['noop', {}]]],
    ['run the tool noop', [['noop', {}]]],
    [
      'call weather {"city":"A"} and call noop {}',
      [
        ['weather', { city: 'A' }],
        ['noop', {}],
      ],
    ],
    [
      'call weather city=A and call weather city=B and use noop',
      [
        ['weather', { city: 'A' }],
        ['weather', { city: 'B' }],
        ['noop', {}],
      ],
    ],
    ['call noop {"text":"please call weather {}"}', [['noop', { text: 'please call weather {}' }]]],
    ['call noop {"__proto__":1}', [['noop', JSON.parse('{"__proto__":1}') as Json]]],
  ])('%s', async (text, calls) => {
    expect(await callsFor(text, [WEATHER, NOOP])).toEqual(calls);
  });

  it('gives parallel calls different ids', async () => {
    const { calls } = await answerTo('call noop and call noop', [NOOP]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
  });

  it.each([
    ['call nope {"a":1}', 'I have no tool named `nope`. My tools are `weather`, `noop`.'],
    ['call weather {"city":', 'I could not read the arguments for `weather`'],
    ['call weather {city: Rome}', 'I could not read the arguments for `weather`'],
  ])('explains: %s', async (text, part) => {
    const answer = await answerTo(text, [WEATHER, NOOP]);
    expect(answer.calls).toEqual([]);
    expect(answer.text).toContain(part);
  });

  it.each(['call me maybe', 'use your imagination', 'I run every day'])('is not a call: %s', async (text) => {
    expect((await answerTo(text, [WEATHER])).calls).toEqual([]);
  });

  it('calls nothing where it may not', async () => {
    const answer = await answerTo('call noop', [NOOP], 'none');
    expect(answer).toMatchObject({ calls: [], finishReason: 'stop' });
    expect(answer.text).toContain('may not use tools');
  });

  it('leaves out calls that do not fit, whole', async () => {
    const request = buildRequest({
      messages: [user('call noop and call noop')],
      tools: [NOOP],
      maxOutputTokens: 2,
    });
    const { answer } = await ask(demo, request);
    expect(answer.calls.map((call) => call.arguments)).toEqual([{}]);
    expect(answer.finishReason).toBe('length');
  });
});

describe('after the results', () => {
  it.each<[string, { output: Json; isError?: boolean }[], string]>([
    ['call noop', [{ output: 'all good' }], '`noop` answered: all good.'],
    ['call noop', [{ output: 'Done!' }], '`noop` answered: Done!'],
    ['call noop', [{ output: 42 }], '`noop` answered: 42.'],
    ['call noop', [{ output: { degrees: 21, sky: 'clear' } }], '`noop` answered: degrees: 21, sky: clear.'],
    ['call noop', [{ output: { result: 'yes' } }], '`noop` answered: yes.'],
    ['call noop', [{ output: [1, { a: 2 }] }], '`noop` answered: [1,{"a":2}].'],
    ['call noop', [{ output: null }], '`noop` ended without a result.'],
    ['call noop', [{ output: 'It broke', isError: true }], '`noop` failed: It broke.'],
    [
      'call noop',
      [{ output: { code: 'x', message: 'It broke.' }, isError: true }],
      '`noop` failed: It broke.',
    ],
    [
      'call noop',
      [{ output: { error: { code: 'x', message: 'bad' } }, isError: true }],
      '`noop` failed: bad.',
    ],
    ['call noop', [{ output: null, isError: true }], '`noop` failed: no reason was given.'],
    [
      'call noop and call weather',
      [{ output: 1 }, { output: 'too far', isError: true }],
      '`noop` answered: 1; `weather` failed: too far.',
    ],
  ])('%s → %j', async (text, ends, sentence) => {
    expect(await saysAfter(text, [NOOP, WEATHER], ...ends)).toMatchObject({
      text: sentence,
      calls: [],
      finishReason: 'stop',
    });
  });

  it('keeps it short', async () => {
    const long = await saysAfter('call noop', [NOOP], { output: 'x '.repeat(100_000) });
    expect(long.text.length).toBeLessThan(350);
    const text = Array.from({ length: 30 }, () => 'call noop').join(' and ');
    const many = await saysAfter(text, [NOOP]);
    expect(many.text).toContain('20 more calls ended');
  });

  it('summarises in text in a forced last turn', async () => {
    const request = buildRequest({ messages: [user('call noop')], tools: [NOOP] });
    const { answer } = await ask(demo, request);
    const forced = { ...afterTools(request, answer, [{ output: 'ok' }]), toolChoice: 'none' as const };
    expect((await ask(demo, forced)).answer).toMatchObject({ text: '`noop` answered: ok.', calls: [] });
  });

  it('turns to a message that came in the meantime', async () => {
    const request = buildRequest({ messages: [user('call noop')], tools: [NOOP] });
    const { answer } = await ask(demo, request);
    const steered = afterTools(request, answer, [{ output: 'ok' }]);
    steered.messages.push(user('how much is 2+3?'));
    expect((await ask(demo, steered)).answer.text).toBe('2+3 = 5.');
  });
});

describe('the time', () => {
  const questions = ['What time is it?', "what's the time", 'tell me the current time', 'What is the date?'];

  it.each(questions)('asks the clock: %s', async (text) => {
    expect(await callsFor(text, [NOOP, CLOCK])).toEqual([['current_time', {}]]);
    expect(await callsFor(text, [buildTool('get_current_time')])).toEqual([['get_current_time', {}]]);
  });

  it.each(questions)('has no clock: %s', async (text) => {
    expect((await answerTo(text, [NOOP])).text).toContain('I have no clock');
  });

  it('passes a time zone on, and fills in what the clock requires', async () => {
    expect(await callsFor('what time is it in Europe/Rome?', [CLOCK])).toEqual([
      ['current_time', { timezone: 'Europe/Rome' }],
    ]);
    const strict = buildTool(
      'current_time',
      { timezone: { type: 'string' }, format: { enum: ['iso8601', 'unix'] } },
      ['timezone', 'format'],
    );
    expect(await callsFor('what time is it?', [strict])).toEqual([
      ['current_time', { timezone: 'UTC', format: 'iso8601' }],
    ]);
  });

  it.each<[Json, string]>([
    ['12:00', 'It is 12:00.'],
    [{ time: '12:00', timezone: 'UTC' }, 'It is 12:00 (UTC).'],
    [{ iso: '2026-01-01T00:00:00Z' }, 'It is 2026-01-01T00:00:00Z.'],
    [{ strange: [1] }, '`current_time` answered: [1].'],
  ])('tells it: %j', async (output, sentence) => {
    expect((await saysAfter('what time is it?', [CLOCK], { output })).text).toBe(sentence);
  });

  it('says that it may not look', async () => {
    expect((await answerTo('what time is it?', [CLOCK], 'none')).text).toContain('may not use tools');
  });
});

describe('delegating', () => {
  const plain = buildTool('create_agent', { role: { type: 'string' }, instruction: { type: 'string' } });

  it.each<[string, [string, string][]]>([
    ['delegate to researcher: find X', [['researcher', 'find X']]],
    ['Please delegate to the researcher agent to find X.', [['researcher', 'find X.']]],
    ['delegate to @writer: say "to be: or not"', [['writer', 'say "to be: or not"']]],
    ['delegate find the tallest tree to the researcher', [['researcher', 'find the tallest tree']]],
    ['delegate: find X', [['general', 'find X']]],
    ['Hello. Delegate to researcher: find X', [['researcher', 'find X']]],
    [
      'delegate to researcher: find X and delegate to writer: write Y',
      [
        ['researcher', 'find X'],
        ['writer', 'write Y'],
      ],
    ],
  ])('%s', async (text, errands) => {
    const calls = errands.map(([role, instruction]) => ['create_agent', { role, instruction }]);
    expect(await callsFor(text, [plain])).toEqual(calls);
  });

  it('reads the names of the parameters in the schema', async () => {
    const seed = buildTool('create_agent', {
      type: { type: 'string', enum: ['general', 'researcher'] },
      instruction: { type: 'string' },
    });
    expect(await callsFor('delegate to Researcher: find X', [seed])).toEqual([
      ['create_agent', { type: 'researcher', instruction: 'find X' }],
    ]);
    const other = buildTool(
      'create_agent',
      {
        agent: { type: 'string', enum: ['agent:writer', 'agent:researcher'] },
        name: { type: 'string' },
        task: { type: 'string' },
        background: { type: 'boolean' },
        budget: { type: 'integer', default: 5 },
      },
      ['agent', 'name', 'task', 'background', 'budget'],
    );
    expect(await callsFor('delegate to researcher: find X', [other])).toEqual([
      [
        'create_agent',
        { agent: 'agent:researcher', task: 'find X', name: 'researcher', background: false, budget: 5 },
      ],
    ]);
    expect(await callsFor('delegate: find X', [other])).toMatchObject([
      ['create_agent', { agent: 'agent:writer' }],
    ]);
    expect(await callsFor('delegate to x: y', [{ ...other, inputSchema: {} }])).toEqual([
      ['create_agent', { role: 'x', instruction: 'y' }],
    ]);
  });

  it('asks what, and says when it cannot', async () => {
    expect((await answerTo('can you delegate?', [plain])).text).toContain('What shall I delegate?');
    expect((await answerTo('delegate to x: y', [NOOP])).text).toContain('I cannot delegate');
    expect((await answerTo('delegate to x: y', [plain], 'none')).text).toContain('may not use tools');
    expect((await answerTo('Managers delegate work', [plain])).calls).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ['ask the researcher how much is 2+2', { type: 'researcher', instruction: 'how much is 2+2' }],
    ['Please tell @writer: say hello', { type: 'writer', instruction: 'say hello' }],
    ['delegate to x: call noop {"a":1}', { type: 'x', instruction: 'call noop {"a":1}' }],
    ['delegate to x in the background: find X', { type: 'x', instruction: 'find X', background: true }],
    ['ask x to find X in the background', { type: 'x', instruction: 'find X', background: true }],
  ])('understands %s', async (text, given) => {
    const own = {
      type: { type: 'string' },
      instruction: { type: 'string' },
      background: { type: 'boolean' },
    };
    expect(await callsFor(text, [buildTool('create_agent', own), NOOP])).toEqual([['create_agent', given]]);
  });

  it.each(['ask me something', 'tell me about trees', 'ask the user for a name'])(
    'is nobody to delegate to: %s',
    async (text) => expect((await answerTo(text, [plain])).calls).toEqual([]),
  );

  it.each<[Json, string]>([
    [{ status: 'success', taskId: 't', subAgentId: 's', result: '4.' }, 'x answers: 4.'],
    [{ status: 'pending', taskId: 't' }, 'x is at work, and I tell you when there is news.'],
    [
      { status: 'waiting', subAgentId: 's', question: 'Which?' },
      'x asks: Which? (Answer here, and I pass it on.)',
    ],
  ])('says what came of it: %j', async (output, text) => {
    expect((await saysAfter('call create_agent type=x instruction=y', [plain], { output })).text).toBe(text);
  });

  const news = (text: string): ModelMessage => ({
    role: 'user',
    text: `Task 1a (agent:writer, sub-agent 2b) ${text}`,
  });

  it.each([
    ['is done. Its result:\n\nAll\n\nof it.', 'writer is done: All\n\nof it.'],
    [
      'waits for an answer. The sub-agent asks:\n\nWhich?',
      'writer asks: Which? (Answer here, and I pass it on.)',
    ],
    ['failed: It broke. (x)', 'writer failed: It broke. (x)'],
    ['was canceled. Somebody did.', 'writer was canceled.'],
  ])('tells what became of a task in the background: %s', async (told, text) => {
    const messages: ModelMessage[] = [user('go'), { role: 'assistant', text: 'ok', calls: [] }, news(told)];
    expect((await ask(demo, buildRequest({ messages, tools: [plain] }))).answer.text).toBe(text);
  });

  it('goes to the space where a task was given, and tells it there', async () => {
    const payload = { spaceId: 'p1', text: (news('is done. Its result:\n\n4.') as { text: string }).text };
    const system = `TRIGGER:\n- type: service\n- service: "task"\n- payload: ${JSON.stringify(payload)}\n\nMore.`;
    const tools = [plain, buildTool('enter_space'), buildTool('send_message', { text: { type: 'string' } })];
    const began = buildRequest({ system, messages: [user('Go on.')], tools });
    const { answer } = await ask(demo, began);
    expect(answer.calls).toMatchObject([{ name: 'enter_space', arguments: { spaceId: 'p1' } }]);
    const there = afterTools(began, answer, [{ output: { entered: true } }]);
    const { answer: said } = await ask(demo, there);
    expect(said.calls).toMatchObject([{ name: 'send_message', arguments: { text: 'writer is done: 4.' } }]);
    const after = await ask(demo, afterTools(there, said, [{ output: { ok: true } }]));
    expect(after.answer).toMatchObject({ text: '', calls: [] });
  });

  it('hands on what somebody says while a sub-agent waits for it', async () => {
    const line = (subAgentId: string, status: string) =>
      `- ${JSON.stringify({ subAgentId, taskId: 't', name: 'agent:writer', status, question: 'Which?' })}`;
    const system = ['TASKS: what you gave', line('s1', 'waiting'), line('s2', 'success')].join('\n');
    const tools = [plain, buildTool('reply_to_agent')];
    const request = buildRequest({ system, messages: [user('The blue one.')], tools });
    const { answer } = await ask(demo, request);
    const given = { subAgentId: 's1', content: 'The blue one.' };
    expect(answer.calls).toMatchObject([{ name: 'reply_to_agent', arguments: given }]);
    const output = { status: 'success', subAgentId: 's1', result: 'Blue it is.' };
    const after = await ask(demo, afterTools(request, answer, [{ output }]));
    expect(after.answer.text).toBe('writer answers: Blue it is.');
    const sum = await ask(demo, buildRequest({ system, messages: [user('How much is 2+2?')], tools }));
    expect(sum.answer.text).toBe('2+2 = 4.');
  });

  it('as a sub-agent asks what it is told to ask, and searches where it can', async () => {
    const tools = [buildTool('ask_user'), buildTool('web_search')];
    expect(await callsFor('ask me which colour', tools)).toEqual([
      ['ask_user', { question: 'Which colour?' }],
    ]);
    expect(await callsFor('ask the user: Which colour?', tools)).toEqual([
      ['ask_user', { question: 'Which colour?' }],
    ]);
    const told = await saysAfter('ask me which colour', tools, { output: { answer: 'blue' } });
    expect(told.text).toBe('I asked "Which colour?" and was told: blue.');
    expect(await callsFor('find the tallest tree', tools)).toEqual([
      ['web_search', { query: 'the tallest tree' }],
    ]);
  });

  it('gives its own answer by final_answer where it is a sub-agent', async () => {
    const final = buildTool('final_answer', { result: { type: 'string' } });
    const request = buildRequest({ messages: [user('how much is 2+2?')], tools: [final] });
    const { answer } = await ask(demo, request);
    expect(answer.calls).toMatchObject([{ name: 'final_answer', arguments: { result: '2+2 = 4.' } }]);
    const after = await ask(demo, afterTools(request, answer, [{ output: { ok: true } }]));
    expect(after.answer).toMatchObject({ text: '', calls: [] });
  });
});

describe('in a network', () => {
  const respond = (payload: JsonObject = {}) => buildTool('respond', { payload }, ['payload']);
  const route = (...agents: string[]) =>
    buildTool('route_to_agent', { agent: { type: 'string', enum: agents }, context: {} }, ['agent']);
  const handed = (text: string) =>
    `# What was asked\n\n${text}\n\n# What happened before\n\n1. front handed over to desk`;

  it('answers by a call that fits, where it may', async () => {
    const [[name, given] = []] = await callsFor('How much is 2+2?', [respond(), route('front')]);
    expect([name, given]).toEqual(['respond', { payload: { message: '2+2 = 4.' } }]);
    const schema = { type: 'object', properties: { sum: { type: 'string' } }, required: ['sum'] };
    expect(await callsFor('How much is 2+2?', [respond(schema)])).toEqual([
      ['respond', { payload: { sum: '2+2 = 4.' } }],
    ]);
  });

  it('hands over where it may not, to somebody who did not have it yet', async () => {
    expect(await callsFor('Where is my order?', [route('desk')])).toEqual([
      ['route_to_agent', { agent: 'desk' }],
    ]);
    expect(await callsFor('How much is 17*3?', [route('clock', 'sums')])).toEqual([
      ['route_to_agent', { agent: 'sums' }],
    ]);
    expect(await callsFor(handed('Where?'), [route('front', 'writer')])).toEqual([
      ['route_to_agent', { agent: 'writer' }],
    ]);
  });

  it('does what was asked at first, whoever handed it over', async () => {
    expect(await callsFor(handed('call weather city=Rome'), [WEATHER, respond()])).toEqual([
      ['weather', { city: 'Rome' }],
    ]);
  });
});
