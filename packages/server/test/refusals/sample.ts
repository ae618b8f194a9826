import { newId } from '@troupe/server';
import { type ZodType, z } from 'zod';
import { bodyOf } from '../access/body-of.ts';
import type { Random } from '../simulation/random.ts';

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
}

const described = new WeakMap<ZodType, Schema>();

/** Something that the schema takes, mostly with more in it than the least. */
export function sampleOf(random: Random, schema: ZodType): unknown {
  let known = described.get(schema);
  if (!known) {
    known = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
    described.set(schema, known);
  }
  for (let attempt = 0; attempt < 5; attempt++) {
    const sample = make(random, known, known);
    if (schema.safeParse(sample).success) return sample;
  }
  return bodyOf(schema);
}

function make(random: Random, schema: Schema, root: Schema): unknown {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1)!;
    const target = schema.$ref === '#' ? root : root.$defs?.[name];
    // JSON of any kind refers to itself; a leaf is enough.
    return target?.anyOf ? random.pick([1, 'x', null, true]) : make(random, target ?? {}, root);
  }
  if ('const' in schema) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return make(random, random.pick(choices), root);
  switch (schema.type) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).filter(
        ([name]) => schema.required?.includes(name) || random.chance(0.6),
      );
      const more = schema.properties
        ? []
        : [['free', random.pick<unknown>([1, 'x', [1, { a: null }]])] as const];
      return Object.fromEntries([
        ...fields.map(([name, field]) => [name, make(random, field, root)]),
        ...more,
      ]);
    }
    case 'array':
      return Array.from({ length: Math.max(schema.minItems ?? 0, random.int(0, 2)) }, () =>
        make(random, schema.items ?? {}, root),
      );
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    case 'string':
      if (schema.format === 'uuid') return newId();
      if (schema.format === 'date-time') return '2100-01-01T00:00:00Z';
      if (schema.format === 'uri') return 'https://example.com/';
      return 'x';
    default:
      return 'x';
  }
}
