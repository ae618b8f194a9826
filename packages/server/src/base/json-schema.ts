import { createHash } from 'node:crypto';
import { RE2JS } from '@bufbuild/re2';
import type { JsonObject } from '@troupe/protocol';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { messageOf } from './errors.ts';

// Patterns come from users, so they run on RE2: linear time, whatever they say. Linear is not short, though: the time is
// that of the text times that of the pattern, repetitions written out (130,000 steps a millisecond), and is bounded here.
const LONGEST_PATTERN = 5_000;
const MOST_STEPS = 30_000_000;

function compile(pattern: string) {
  if (pattern.length > LONGEST_PATTERN) {
    throw new Error(`a pattern may have ${LONGEST_PATTERN} characters, not ${pattern.length}`);
  }
  let repetitions = 1;
  for (const [, least, most] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g))
    repetitions += Number(most || least);
  const expression = RE2JS.compile(pattern);
  return {
    test(text: string): boolean {
      if (pattern.length * repetitions * text.length > MOST_STEPS) {
        throw new Error(`the pattern ${pattern.slice(0, 100)} takes too long for ${text.length} characters`);
      }
      return expression.test(text);
    },
    // Ajv tells patterns apart by it.
    toString: () => `/${pattern}/u`,
  };
}
const regExp = Object.assign(compile, { code: 're2' });
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

/** A sentence that says why a schema cannot be used, or null. */
export function schemaProblem(schema: JsonObject): string | null {
  try {
    validator(schema);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function validator(schema: JsonObject): ValidateFunction {
  const known = byObject.get(schema);
  if (known) return known;
  const hash = createHash('sha256').update(JSON.stringify(schema)).digest('base64');
  let validate = byHash.get(hash);
  if (!validate) {
    // Schemas of older drafts differ in nothing that the arguments of tools need; an id would have to be unique.
    const { $id: _, $schema: __, ...rest } = schema;
    validate = ajv.compile(rest);
    if (byHash.size >= MOST_CACHED) byHash.delete(byHash.keys().next().value!);
    byHash.set(hash, validate);
  }
  byObject.set(schema, validate);
  return validate;
}
