import { createHash } from 'node:crypto';
import { RE2JS } from '@bufbuild/re2';
import type { JsonObject } from '@troupe/protocol';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

// Patterns come from users, so they run on RE2: linear time, whatever they say.
const regExp = Object.assign((pattern: string) => RE2JS.compile(pattern), { code: 're2' });
const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false, code: { regExp } });

const byObject = new WeakMap<JsonObject, ValidateFunction>();
const byHash = new Map<string, ValidateFunction>();
const MOST_CACHED = 2_000;

/** A sentence that says what is wrong with the arguments, or null. Throws where the schema itself is broken. */
export function argumentProblem(schema: JsonObject, args: unknown): string | null {
  const validate = validator(schema);
  if (validate(args)) return null;
  const error = validate.errors?.[0];
  const where = error?.instancePath
    ? `\`${error.instancePath.slice(1).replaceAll('/', '.')}\``
    : 'the arguments';
  return `${where} ${error?.message ?? 'do not fit the schema'}`;
}

function validator(schema: JsonObject): ValidateFunction {
  const known = byObject.get(schema);
  if (known) return known;
  const hash = createHash('sha256').update(JSON.stringify(schema)).digest('base64');
  let validate = byHash.get(hash);
  if (!validate) {
    const { $id: _, ...rest } = schema;
    validate = ajv.compile(rest);
    if (byHash.size >= MOST_CACHED) byHash.delete(byHash.keys().next().value!);
    byHash.set(hash, validate);
  }
  byObject.set(schema, validate);
  return validate;
}
