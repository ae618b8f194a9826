import type { Instruction, Json, JsonObject } from '@troupe/protocol';
import { describe, expect, it, test } from 'vitest';
import { judge } from '../../src/doors/networks/judge.ts';
import { networkOf } from '../../src/doors/networks/network.ts';
import { compiled } from './published-network.ts';

const param = (name: string, source: 'agent' | 'system' | 'default', more: object = {}) => ({
  name,
  source,
  required: false,
  schema: {},
  ...more,
});

const network = networkOf(
  compiled(
    {
      name: 'desk',
      response: {
        schema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
      },
      tools: [{ key: 'lookup' }, { key: 'pay' }, { key: 'free' }, { key: 'broken' }, { key: 'unset' }],
      agents: [
        { key: 'front', isDefault: true, tools: ['lookup', 'free', 'broken', 'unset'], routes: ['back'] },
        { key: 'back', tools: ['pay'], allowRespond: true },
        { key: 'other', allowRespond: true },
      ],
    },
    {
      lookup: {
        params: [
          param('q', 'agent', { required: true, schema: { type: 'string', maxLength: 5 } }),
          param('most', 'agent', { required: true, defaultValue: 3, schema: { type: 'integer' } }),
          param('tenant', 'system', { required: true }),
          param('locale', 'system', { required: true, defaultValue: 'en' }),
          param('format', 'default', { required: true, defaultValue: 'json' }),
        ],
      },
      pay: {},
      free: { inputSchema: { type: 'object', properties: { a: { type: 'number' } } } },
      broken: { inputSchema: { type: 'object', properties: { a: { type: 'nonsense' } } } },
      unset: { params: [param('kind', 'default', { required: true })] },
    },
  ),
);

function verdict(agent: string, action: Instruction['action'], given: string[] = ['tenant']) {
  const { status, code, message, ...rest } = judge(network, agent, { action }, new Set(given));
  return { status, code, message: message ?? '', ...rest };
}
const use = (tool: string, params: JsonObject = {}) => ({ type: 'USE_TOOL' as const, tool, params });
const route = (agent: string) => ({ type: 'ROUTE_TO_AGENT' as const, agent });
const respond = (payload: Json) => ({ type: 'RESPOND' as const, payload });

describe('tools', () => {
  it('lets through what fits, and tells what the agent gave and nothing else', () => {
    expect(verdict('front', use('lookup', { q: 'x' }))).toMatchObject({ status: 'ok', params: { q: 'x' } });
    expect(verdict('FRONT', use('LookUp', { q: 'x', most: 9 }))).toMatchObject({ status: 'ok' });
  });
  it('treats null for a parameter with a default as absent', () => {
    const judged = verdict('front', use('lookup', { q: 'x', most: null }));
    expect(judged).toMatchObject({ status: 'ok', params: { q: 'x' } });
    expect(judged.params).not.toHaveProperty('most');
    expect(verdict('front', use('lookup', { q: null }))).toMatchObject({ status: 'retry' });
  });
  test.each([
    ['one that there is not', 'front', use('nothing'), 'unknown_tool', 'lookup'],
    ['one with a name of every object', 'front', use('constructor'), 'unknown_tool', 'lookup'],
    ['one of another agent', 'front', use('pay'), 'tool_not_allowed', '`lookup`'],
    [
      'a system parameter',
      'front',
      use('lookup', { q: 'x', tenant: 't' }),
      'system_param_given',
      '`q`, `most`',
    ],
    ['a default one', 'front', use('lookup', { q: 'x', format: 'xml' }), 'default_param_given', '`q`'],
    ['an unknown one', 'front', use('lookup', { q: 'x', z: 1 }), 'unknown_param', '`q`'],
    ['none', 'front', use('lookup'), 'missing_param', '`q`'],
    [
      'one that does not fit',
      'front',
      use('lookup', { q: 'too long' }),
      'invalid_params',
      'must NOT have more',
    ],
    ['one that does not fit a free schema', 'front', use('free', { a: 'x', b: 1 }), 'invalid_params', '`a`'],
  ])('sends back: %s', (_, agent, action, code, told) => {
    const found = verdict(agent, action);
    expect(found).toMatchObject({ status: 'retry', code });
    expect(found.message).toContain(told);
  });
  it('takes what a schema without sources leaves open', () => {
    expect(verdict('front', use('free', { a: 1, b: 2 }))).toMatchObject({ status: 'ok' });
  });
  it('does not blame the model for what the operator left out', () => {
    expect(verdict('front', use('lookup', { q: 'x' }), [])).toMatchObject({
      status: 'error',
      code: 'missing_system_param',
    });
    expect(verdict('front', use('unset'))).toMatchObject({ status: 'error', code: 'missing_default' });
    expect(verdict('front', use('broken', { a: 1 }))).toMatchObject({
      status: 'error',
      code: 'broken_schema',
    });
  });
  it('tells the model of its own mistakes first', () => {
    expect(verdict('front', use('lookup'), [])).toMatchObject({ code: 'missing_param' });
    expect(verdict('front', use('lookup', { tenant: 1 }), [])).toMatchObject({ code: 'system_param_given' });
    expect(verdict('front', use('lookup', { q: 'too long' }), [])).toMatchObject({
      code: 'missing_system_param',
    });
  });
});

describe('routes', () => {
  it('takes those that there are, as they are spelled', () => {
    expect(verdict('front', route('BACK'))).toMatchObject({ status: 'ok', nextAgent: 'back' });
  });
  test.each([
    ['nobody', 'front', 'nobody', 'unknown_agent'],
    ['one without a route', 'front', 'other', 'route_not_allowed'],
    ['itself', 'front', 'front', 'route_not_allowed'],
    ['back again', 'back', 'front', 'route_not_allowed'],
  ])('sends back: %s', (_, from, to, code) => {
    const found = verdict(from, route(to));
    expect(found).toMatchObject({ status: 'retry', code });
    expect(found).not.toHaveProperty('nextAgent');
    expect(found.message).toContain(from === 'front' ? '`back`' : 'hand over to nobody');
  });
});

describe('responses', () => {
  it('takes what fits the contract', () => {
    const response = { answer: 'yes' };
    expect(verdict('back', respond(response))).toMatchObject({ status: 'ok', response });
  });
  it('sends back what does not, and who may not', () => {
    expect(verdict('front', respond({ answer: 'yes' }))).toMatchObject({
      status: 'retry',
      code: 'respond_not_allowed',
    });
    const unfit = verdict('back', respond({ answer: 1 }));
    expect(unfit).toMatchObject({ status: 'retry', code: 'response_invalid' });
    expect(unfit.message).toContain('"answer"');
    expect(verdict('back', respond('a text'))).toMatchObject({ code: 'response_invalid' });
  });
  it('takes a text as a message, where there is no contract or it wants one', () => {
    const of = (schema: JsonObject | null) =>
      networkOf(compiled({ name: 'n', response: { schema }, agents: [{ key: 'a', allowRespond: true }] }));
    const judged = (schema: JsonObject | null) =>
      judge(of(schema), 'a', { action: respond('hello') }, new Set());
    expect(judged(null)).toMatchObject({ status: 'ok', response: { message: 'hello' } });
    expect(judged({ type: 'string' })).toMatchObject({ status: 'ok', response: 'hello' });
    expect(judged({ type: 'nonsense' })).toMatchObject({ status: 'error', code: 'contract_broken' });
  });
});

it('knows no agent that is not there', () => {
  expect(verdict('nobody', respond(1))).toMatchObject({ status: 'error', code: 'unknown_agent' });
});
