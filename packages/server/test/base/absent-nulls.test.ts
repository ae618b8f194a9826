import { expect, test } from 'vitest';
import { withoutAbsentNulls } from '../../src/base/absent-nulls.ts';

const schema = {
  type: 'object',
  properties: {
    needed: { type: 'string' },
    limit: { type: 'integer', default: 20 },
    plain: { type: 'string' },
    untyped: { default: 'en' },
    nullable: { type: ['string', 'null'], default: 'x' },
    any: {},
    referred: { $ref: '#/$defs/word', default: 'w' },
    nothing: { $ref: '#/$defs/none' },
    elsewhere: { $ref: '#/properties/limit' },
  },
  required: ['needed'],
  $defs: { word: { type: 'string' }, none: { type: 'null' } },
};

test('leaves out null for optional parameters that do not accept it, and nothing else', () => {
  const args = {
    needed: null,
    limit: null,
    plain: null,
    untyped: null,
    nullable: null,
    any: null,
    referred: null,
    nothing: null,
    elsewhere: null,
    unknown: null,
  };
  const kept = { needed: null, nullable: null, any: null, nothing: null, elsewhere: null, unknown: null };
  expect(withoutAbsentNulls(schema, args)).toEqual(kept);
  const given = { needed: 'a', limit: 3 };
  expect(withoutAbsentNulls(schema, given)).toBe(given);
  for (const odd of [null, 3, [null]]) expect(withoutAbsentNulls(schema, odd)).toBe(odd);
  expect(withoutAbsentNulls({}, { a: null })).toEqual({ a: null });
});
