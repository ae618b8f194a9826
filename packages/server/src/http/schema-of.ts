import { type ZodType, z } from 'zod';

/** A schema as JSON Schema, to be put into a larger document. The only one that refers to itself is "any JSON", and says so. */
export function schemaOf(schema: ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, $defs: __, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return withoutReferences(rest) as Record<string, unknown>;
}

function withoutReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutReferences);
  if (value === null || typeof value !== 'object') return value;
  if ('$ref' in value) return { description: 'Any JSON.' };
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutReferences(item)]));
}
