import { createHash } from 'node:crypto';
import type { JsonObject } from '@troupe/protocol';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { messageOf } from './errors.ts';
import { inProcessorTime, inTime, OutOfTime } from './in-time.ts';
import { lazy } from './lazy.ts';

const ajvPackage = lazy<typeof import('ajv/dist/2020.js')>('ajv/dist/2020.js');
const re2 = lazy<typeof import('@bufbuild/re2')>('@bufbuild/re2');

// Schemas come from users, and a small one can take any time: patterns times strings, references that double at every level,
// `uniqueItems` of many. So a schema has a size, and both compiling and checking have a time, for everything in it together.
// Patterns run on RE2 besides, which needs no exponential time for any of them.
const LONGEST_PATTERN = 5_000;
const MOST_BYTES = 200_000;
const COMPILE_MS = 1_000;
const CHECK_MS = 250;
// An answer of a model can have many calls, all checked before anybody else gets a turn: they share this, and then get little each.
const TURN_MS = 500;
const LEAST_MS = 20;

// Where nothing in a schema multiplies, each part of it meets each part of the arguments at most once: few of them need no clock.
const MULTIPLIES = /"(?:\$ref|\$dynamicRef|\$recursiveRef|pattern|patternProperties|uniqueItems)"/;
const FEW = 2_000_000;

function compilePattern(pattern: string) {
  if (pattern.length > LONGEST_PATTERN) {
    throw new Error(`a pattern may have ${LONGEST_PATTERN} characters, not ${pattern.length}`);
  }
  const expression = re2().RE2JS.compile(pattern);
  return {
    test: (text: string) => expression.test(text),
    // Ajv tells patterns apart by it.
    toString: () => `/${pattern}/u`,
  };
}
const regExp = Object.assign(compilePattern, { code: 're2' });
const OPTIONS = { strict: false, allErrors: false, validateFormats: false, code: { regExp } } as const;
const META = 'json-schema.org/';

interface Validator {
  validate: ValidateFunction;
  hash: string;
  /** It was broken off: until the next turn nobody tries it again, nor compiles it anew. */
  brokenOff?: string;
  /** Of the schema, in characters; null where it can multiply. */
  size: number | null;
}

const byObject = new WeakMap<JsonObject, Validator>();
const byHash = new LRUCache<string, Validator>({ max: 500 });
let meta: Ajv2020 | null = null;
let spentMs = 0;

/**
 * A sentence that says what is wrong with the arguments, or null; `what` names the whole of them. Throws where the schema itself
 * is broken, or takes too long for these arguments.
 */
export function argumentProblem(schema: JsonObject, args: unknown, what = 'the arguments'): string | null {
  const known = validator(schema);
  const { validate } = known;
  if (fits(known, args)) return null;
  const error = validate.errors?.[0];
  const where = error?.instancePath ? `\`${error.instancePath.slice(1).replaceAll('/', '.')}\`` : what;
  const extra = (error?.params as { additionalProperty?: unknown } | undefined)?.additionalProperty;
  if (typeof extra === 'string') return `${where} must not have \`${extra.slice(0, 100)}\``;
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

// What the meta-schema cannot judge.
const ONLY_COMPILED = /"(?:\$|pattern)/;
// Less than this needs no clock: the meta-schema looks at each part once.
const SMALL = 20_000;

/**
 * The same for many schemas at once: compiling one takes a millisecond or two, the meta-schema alone some hundredths. So only those are
 * compiled that are large, refer to something or have patterns.
 */
export function writtenProblem(schema: JsonObject): string | null {
  const text = JSON.stringify(schema);
  if (text.length > SMALL || ONLY_COMPILED.test(text)) return schemaProblem(schema);
  const ajv = metaSchema();
  return ajv.validateSchema(schema) ? null : `schema is invalid: ${ajv.errorsText()}`;
}

function fits(known: Validator, args: unknown): boolean {
  const { validate, hash, size } = known;
  if (known.brokenOff) throw new Error(known.brokenOff);
  if (size !== null && size * (JSON.stringify(args)?.length ?? 0) < FEW) return validate(args) as boolean;
  if (spentMs === 0) {
    setImmediate(() => {
      spentMs = 0;
    });
  }
  const limitMs = Math.max(LEAST_MS, Math.min(CHECK_MS, Math.floor(TURN_MS - spentMs)));
  const started = performance.now();
  try {
    return inTime(limitMs, () => validate(args) as boolean);
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
    known.brokenOff = `it takes longer than ${limitMs} ms to check these arguments`;
    setImmediate(() => byHash.delete(hash));
    throw new Error(known.brokenOff);
  } finally {
    spentMs += performance.now() - started;
  }
}

function validator(schema: JsonObject): Validator {
  const seen = byObject.get(schema);
  // Equal schemas share one, so what was broken off is known here by others, too.
  if (seen && (!seen.brokenOff || byHash.get(seen.hash) === seen)) return seen;
  const text = JSON.stringify(schema);
  if (text.length > MOST_BYTES) {
    throw new Error(`a schema may have ${MOST_BYTES} characters, not ${text.length}`);
  }
  const hash = createHash('sha256').update(text).digest('base64');
  let known = byHash.get(hash);
  if (!known) {
    const size = MULTIPLIES.test(text) ? null : text.length;
    known = { validate: compile(schema, text), hash, size };
    byHash.set(hash, known);
  }
  byObject.set(schema, known);
  return known;
}

function metaSchema(): Ajv2020 {
  if (!meta) {
    const first = new (ajvPackage().Ajv2020)(OPTIONS);
    first.validateSchema({});
    meta = first;
  }
  return meta;
}

/** Each with an Ajv of its own: one keeps all that it ever compiled, and lets one schema refer to the ids within another. */
function compile(schema: JsonObject, text: string): ValidateFunction {
  const ajv = metaSchema();
  // Loaded before the clock starts, which would otherwise interrupt the load.
  if (text.includes('"pattern')) re2();
  // Schemas of older drafts differ in nothing that the arguments of tools need; an id would have to be unique.
  const { $id: _, $schema: __, ...rest } = schema;
  try {
    return inProcessorTime(COMPILE_MS, () => {
      if (!ajv.validateSchema(rest)) throw new Error(`schema is invalid: ${ajv.errorsText()}`);
      return new (ajvPackage().Ajv2020)({
        ...OPTIONS,
        validateSchema: false,
        meta: text.includes(META),
      }).compile(rest);
    });
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
    throw new Error(`it takes longer than ${COMPILE_MS} ms to compile it`);
  }
}
