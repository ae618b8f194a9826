import { z } from 'zod';
import { json } from './json.ts';

export const id = z.uuid();
export const timestamp = z.iso.datetime({
  offset: true,
  error: 'must be a time with its offset, such as 2030-01-31T09:00:00Z or 2030-01-31T09:00:00+01:00',
});
export const name = z.string().trim().min(1).max(200);
/** For one line of text: no control characters, of which Postgres cannot even store NUL. */
export const oneLine = /^\P{Cc}*$/u;
/** External ids that begin so are Troupe's own: nobody can be named so, by a token or by a caller. */
export const RESERVED = 'troupe:';
/** Who a session belongs to where nobody is named. */
export const NOBODY_NAMED = `${RESERVED}nobody`;
export const isFree = (externalId: string) => !externalId.startsWith(RESERVED);
export const tags = z.array(z.string().trim().min(1).max(64).regex(oneLine)).max(64);
/** As a model calls it. */
export const toolName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'letters, digits, "_" and "-", at most 64, no digit first');
/** Free for the caller's own use. */
export const metadata = z.record(z.string().max(64), json);

/**
 * A number in an address, which is text: decimal digits and nothing else. `0x10`, `1e1`, ` 5` and the empty text are no
 * numbers here, whatever JavaScript makes of them. What it is without being given is told with `prefault`.
 */
export function inAddress<Schema extends z.ZodNumber>(schema: Schema) {
  return z.preprocess(
    (given) => (typeof given === 'string' ? (/^\d{1,16}$/.test(given) ? Number(given) : Number.NaN) : given),
    schema,
  );
}
/** For `inAddress`. */
export const wholeNumber = z.int({
  error: ({ code }) => (code === 'invalid_type' ? 'must be a whole number in decimal digits' : undefined),
});

type Undefaulted<Schema> = Schema extends z.ZodDefault<infer Inner> ? Inner : Schema;
/** For a PATCH of an object within: without its defaults, which would put back what the caller left alone. */
export function patchOf<Shape extends Record<string, z.ZodType>>(object: z.ZodObject<Shape>) {
  const fields = Object.entries(object.shape).map(([field, schema]) => [
    field,
    (schema instanceof z.ZodDefault ? (schema.unwrap() as z.ZodType) : schema).optional(),
  ]);
  return z.strictObject(
    Object.fromEntries(fields) as { [Field in keyof Shape]: z.ZodOptional<Undefaulted<Shape[Field]>> },
  );
}

/**
 * Accepts other names of fields, such as those of documents that are loaded unchanged. If a field is given by both names, the other
 * name stays and is rejected as unknown.
 */
export function alsoNamed<Schema extends z.ZodType>(names: Readonly<Record<string, string>>, schema: Schema) {
  return z.preprocess((given) => renamed(names, given), schema) as z.ZodType<
    z.output<Schema>,
    z.input<Schema>
  >;
}

export function renamed(names: Readonly<Record<string, string>>, given: unknown): unknown {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return given;
  const nameOf = (field: string) => {
    const name = Object.hasOwn(names, field) ? names[field]! : field;
    return Object.hasOwn(given, name) ? field : name;
  };
  return Object.fromEntries(Object.entries(given).map(([field, value]) => [nameOf(field), value]));
}

/** For a PATCH of what has versions: two people who edit it do not overwrite each other unseen. */
export function baseVersion(what: string) {
  return z
    .number()
    .int()
    .positive()
    .describe(
      `The version that the change was made on. Where the ${what} has another by now, it is refused (\`version_conflict\`).`,
    )
    .optional();
}

/** What every list is asked with. The cursor comes from the page before and means nothing to anybody else. */
export const listQuery = z.strictObject({
  limit: inAddress(wholeNumber.min(1).max(200)).prefault(50),
  cursor: z.string().min(1).max(500).optional(),
});

export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), nextCursor: z.string().nullable() });
}

/** One field that differs, by its JSONPath; `from` or `to` is absent if the field did not exist. */
export const change = z.object({ path: z.string(), from: json.optional(), to: json.optional() });
export type Change = z.infer<typeof change>;
