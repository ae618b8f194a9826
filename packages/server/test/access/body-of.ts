import { newId } from '@troupe/server';
import { type ZodType, z } from 'zod';

interface Schema {
  type?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  minimum?: number;
  minLength?: number;
  $ref?: string;
  examples?: unknown[];
}

/** What an endpoint takes as its body, made from the contract: the least of it, or everything where that is too little. */
export function bodyOf(schema: ZodType): unknown {
  const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const least = sampleOf(described);
  if (schema.safeParse(least).success) return least;
  if (described.examples) return described.examples[0];
  const most = sampleOf({ ...described, required: Object.keys(described.properties ?? {}) });
  schema.parse(most);
  return most;
}

function sampleOf(schema: Schema): unknown {
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return sampleOf(choices[0]!);
  if (schema.allOf) return sampleOf(schema.allOf[0]!);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]),
      );
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}));
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'string':
      if (schema.format === 'uuid') return newId();
      if (schema.format === 'date-time') return new Date(Date.now() + 3_600_000).toISOString();
      if (schema.format === 'uri') return 'https://example.com/';
      return 'x'.repeat(Math.max(1, schema.minLength ?? 1));
    default:
      return 'x';
  }
}
