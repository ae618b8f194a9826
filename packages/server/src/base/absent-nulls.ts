import type { Json, JsonObject } from '@troupe/protocol';
import { argumentProblem } from './json-schema.ts';

/**
 * The arguments without null for optional parameters whose schema does not accept null. Many models set every parameter that
 * they know. Defaults then apply as if the parameter were absent.
 */
export function withoutAbsentNulls<Value extends Json>(schema: JsonObject, args: Value): Value {
  if (!isObject(args) || !isObject(schema.properties)) return args;
  const { properties } = schema;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const isAbsent = ([name, value]: [string, Json]) => {
    if (value !== null || required.includes(name) || !Object.hasOwn(properties, name)) return false;
    const property = properties[name];
    return isObject(property) && !acceptsNull(property, schema.$defs);
  };
  const entries = Object.entries(args);
  const given = entries.filter((entry) => !isAbsent(entry));
  return given.length === entries.length ? args : (Object.fromEntries(given) as Value);
}

const ANNOTATIONS = new Set(['default', 'title', 'description', 'examples']);

/** A schema that cannot be checked separately is left to the check of all arguments. */
function acceptsNull(property: JsonObject, $defs: Json | undefined): boolean {
  // A default without a type says what kind of value is expected.
  if (property.default != null && Object.keys(property).every((key) => ANNOTATIONS.has(key))) return false;
  try {
    return argumentProblem($defs === undefined ? property : { ...property, $defs }, null) === null;
  } catch {
    return true;
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
