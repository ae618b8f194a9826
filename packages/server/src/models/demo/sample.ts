import type { Json, JsonObject } from '@troupe/protocol';
import { isObject, placeholder, properties, required } from './schema.ts';

const DEEPEST = 12;

/** The least that fits a schema, as far as the demo model reads schemas; `text` is what it would have said. */
export function sampleOf(schema: JsonObject, text: string, root = schema, depth = 0): Json {
  if (depth > DEEPEST) return null;
  const inner = (given: Json | undefined) => sampleOf(isObject(given) ? given : {}, text, root, depth + 1);
  const target = typeof schema.$ref === 'string' ? pointedAt(root, schema.$ref) : undefined;
  if (target) return inner(target);
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined || Array.isArray(schema.enum)) return placeholder(schema, text);
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(choices) && choices.length > 0)
      return inner({ ...schema, anyOf: [], oneOf: [], ...(choices[0] as JsonObject) });
  }
  if (Array.isArray(schema.allOf)) {
    return inner(Object.assign({}, schema, { allOf: null }, ...schema.allOf.filter(isObject)));
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type ?? (properties(schema).size > 0 ? 'object' : 'string')) {
    case 'object': {
      const known = properties(schema);
      const names = required(schema);
      const wanted = names.length > 0 ? names : [...known.keys()];
      return Object.fromEntries(wanted.map((name) => [name, inner(known.get(name))]));
    }
    case 'array': {
      const first = Array.isArray(schema.prefixItems) ? schema.prefixItems.map(inner) : [];
      const more = Math.max(0, Math.min(numberAt(schema, 'minItems', 0), 100) - first.length);
      return [...first, ...Array.from({ length: more }, () => inner(schema.items))];
    }
    case 'integer':
    case 'number':
      return numberFor(schema);
    case 'string':
      return text
        .slice(0, numberAt(schema, 'maxLength', 1_000))
        .padEnd(Math.min(numberAt(schema, 'minLength', 0), 1_000), '.');
    case 'null':
      return null;
    default:
      return placeholder({ ...schema, type: type ?? 'string' }, text);
  }
}

function numberFor(schema: JsonObject): number {
  const step = numberAt(schema, 'multipleOf', 1);
  const above = Math.floor(numberAt(schema, 'exclusiveMinimum', -1) / step) * step + step;
  const least = Math.max(numberAt(schema, 'minimum', 0), above);
  const most = Math.min(
    numberAt(schema, 'maximum', least),
    numberAt(schema, 'exclusiveMaximum', least + step) - step,
  );
  return Math.min(Math.ceil(least / step) * step, most);
}

function numberAt(schema: JsonObject, name: string, otherwise: number): number {
  const value = schema[name];
  return typeof value === 'number' ? value : otherwise;
}

/** `#/$defs/name` and the like, within the schema itself. */
function pointedAt(root: JsonObject, pointer: string): JsonObject | undefined {
  let at: Json | undefined = root;
  for (const part of pointer.split('/').slice(1)) {
    at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  }
  return pointer.startsWith('#') && isObject(at) ? at : undefined;
}
