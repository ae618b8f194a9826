import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { JsonObject } from '@troupe/protocol';
import { stopwatch } from '../../../testing/src/stopwatch.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { argumentProblem, schemaProblem } from '../../src/base/index.ts';

const TOO_LONG = /takes longer than \d+ ms/;

beforeEach(() => turn());

function outcome(schema: JsonObject, args: unknown): string | null {
  try {
    return argumentProblem(schema, args);
  } catch (error) {
    return (error as Error).message;
  }
}

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { next: value };
  return value;
}

describe('a schema that takes long', () => {
  const slowPattern = (index: number) => ({ pattern: `^(?:a?){${1_000 - index}}$` });
  const twice = (combinator: string): JsonObject => ({
    type: 'object',
    [combinator]: [
      { properties: { next: { $ref: '#' } } },
      { properties: { next: { $ref: '#' }, b: false } },
    ],
  });
  const cases: [string, JsonObject, unknown, (string | null)?][] = [
    [
      'through many patterns and many strings',
      { type: 'array', items: { allOf: Array.from({ length: 5 }, (_, index) => slowPattern(index)) } },
      Array.from({ length: 10 }, () => 'a'.repeat(900)),
    ],
    [
      'through the patterns of names',
      {
        type: 'object',
        propertyNames: { allOf: Array.from({ length: 5 }, (_, index) => slowPattern(index)) },
      },
      Object.fromEntries(Array.from({ length: 20 }, (_, index) => ['a'.repeat(900 - index), 1])),
    ],
    [
      'through uniqueItems of many objects',
      { type: 'array', uniqueItems: true },
      Array.from({ length: 30_000 }, (_, index) => ({ a: { b: { c: 'same' } }, index })),
    ],
    ['through references that double with allOf', twice('allOf'), nested(40)],
    [
      'through references that double with oneOf',
      twice('oneOf'),
      nested(40),
      'the arguments must match exactly one schema in oneOf',
    ],
    [
      'through a huge enum and many values',
      {
        type: 'array',
        items: { not: { enum: Array.from({ length: 8_000 }, (_, index) => ({ a: { index } })) } },
      },
      Array.from({ length: 30_000 }, () => ({ a: { index: -1 } })),
    ],
  ];
  it.each(cases)('%s is broken off', async (_, schema, args, least = null) => {
    const equal = structuredClone(schema);
    expect([schemaProblem(schema), schemaProblem(equal)]).toEqual([null, null]);
    const elapsed = stopwatch();
    expect(outcome(schema, args)).toMatch(TOO_LONG);
    // The limit is 250 ms.
    expect(elapsed()).toBeLessThan(1_500);
    await turn();
    // The same schema is as good as before for what takes less.
    for (const one of [equal, schema]) expect(outcome(one, Array.isArray(args) ? [] : {})).toBe(least);
  });

  it('leaves little time to those that are checked in the same turn', async () => {
    const schemas = Array.from({ length: 12 }, (_, index) => ({ ...twice('allOf'), title: `${index}` }));
    const args = nested(40);
    for (const schema of schemas) expect(schemaProblem(schema)).toBeNull();
    await turn();
    const elapsed = stopwatch();
    for (const schema of [...schemas, ...schemas]) expect(outcome(schema, args)).toMatch(TOO_LONG);
    expect(outcome({ $ref: '#/$defs/a', $defs: { a: { type: 'object' } } }, {})).toBeNull();
    // 500 ms and some milliseconds for each; it would be 3 s.
    expect(elapsed()).toBeLessThan(2_000);
    await turn();
    expect(outcome(schemas[0]!, args)).toMatch(/longer than 250 ms/);
  });

  it('in references without an end is an error', () => {
    expect(outcome({ $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } }, {})).toMatch(/./);
  });

  it('to compile is refused', () => {
    const large = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: 'string' }]),
    );
    expect(schemaProblem({ type: 'object', properties: large })).toMatch(/may have 200000 characters/);
    const elapsed = stopwatch();
    let deep: JsonObject = { type: 'string' };
    for (let level = 0; level < 3_000; level++) deep = { anyOf: [deep, { type: 'null' }] };
    expect(schemaProblem(deep)).toMatch(/./);
    expect(elapsed()).toBeLessThan(3_000);
  });
});

describe('compiled schemas', () => {
  it('know nothing of the ids within others', () => {
    const own = (required: string): JsonObject => ({
      type: 'object',
      properties: { a: { $ref: 'https://acme.example/address' } },
      $defs: { x: { $id: 'https://acme.example/address', type: 'object', required: [required] } },
    });
    expect(schemaProblem(own('one'))).toBeNull();
    expect(schemaProblem(own('two'))).toBeNull();
    expect(argumentProblem(own('two'), { a: {} })).toMatch(/two/);
    const { $defs: _, ...foreign } = own('one');
    expect(schemaProblem(foreign)).toMatch(/can't resolve reference/);
  });

  it('can refer to the schema of schemas', () => {
    const schema = {
      type: 'object',
      properties: { s: { $ref: 'https://json-schema.org/draft/2020-12/schema' } },
    };
    expect(argumentProblem(schema, { s: { type: 'string' } })).toBeNull();
    expect(argumentProblem(schema, { s: { type: 7 } })).not.toBeNull();
  });

  it('are given up again', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heapAfter = (from: number, to: number) => {
      for (let index = from; index < to; index++)
        schemaProblem({ type: 'object', description: `${'d'.repeat(50_000)}${index}` });
      collect();
      return process.memoryUsage().heapUsed;
    };
    const full = heapAfter(0, 550);
    // Kept, they were 20 MB at the least.
    expect(heapAfter(550, 950) - full).toBeLessThan(8_000_000);
  });
});
