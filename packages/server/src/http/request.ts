import type { Endpoint } from '@troupe/protocol';
import type { Context, MiddlewareHandler } from 'hono';
import type { ZodError, ZodType } from 'zod';
import { checkStorable, inWords, notFound, Refusal } from '../base/index.ts';

// How a request is understood, part by part. Whatever is not as the endpoint says is refused before anything is done.

const BODY_BYTES = 1_048_576;
const ADDRESS_CHARACTERS = 8_000;
const ISSUES = 50;
/** Of what the caller sent, this much is said back. */
const TOLD = 500;

/** An address that is too long, or that does not stand for text. */
export const checkAddress: MiddlewareHandler = async (context, next) => {
  const { url } = context.req;
  if (url.length > ADDRESS_CHARACTERS) {
    throw new Refusal(
      'too_long',
      'address_too_long',
      `The address is longer than ${ADDRESS_CHARACTERS} characters.`,
    );
  }
  if (!url.includes('%')) return next();
  try {
    decodeURIComponent(url);
  } catch {
    const message = 'has a % that is not followed by the code of a character';
    throw new Refusal('malformed', 'invalid_request', `The address ${message}.`, {
      issues: [{ path: '', message }],
    });
  }
  return next();
};

/** What cannot be an id is no id of anything. */
export function paramsOf({ params: schema }: Endpoint, context: Context): unknown {
  if (!schema) return undefined;
  const parsed = schema.safeParse(context.req.param());
  if (!parsed.success || !isStorable(parsed.data)) throw notFound('thing under this address');
  return parsed.data;
}

/** An id with a NUL in it would be an error of the database. */
function isStorable(value: unknown): boolean {
  try {
    checkStorable(value);
    return true;
  } catch {
    return false;
  }
}

export function queryOf(endpoint: Endpoint, context: Context): unknown {
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URL(context.req.url).searchParams) {
    if (name in query) throw invalid([{ path: name, message: 'is given more than once' }]);
    if (!endpoint.query || !Object.hasOwn(endpoint.query.shape, name))
      throw invalid([{ path: name, message: 'is not known here' }]);
    query[name] = value;
  }
  return endpoint.query && parse(endpoint.query, { ...query });
}

export function bodyOf(endpoint: Endpoint, context: Context, given: string | Uint8Array): unknown {
  if (typeof given !== 'string') {
    checkContentType(endpoint, context);
    return given;
  }
  const text = given;
  if (!endpoint.body) {
    if (text.trim() !== '' && text.trim() !== '{}')
      throw invalid([{ path: '', message: 'there is no body here' }]);
    return undefined;
  }
  // A body that may be left out is what it is by default.
  if (text === '' && mayBeLeftOut(endpoint.body)) return endpoint.body.parse(undefined);
  checkContentType(endpoint, context);
  return parse(endpoint.body, endpoint.bodyTypes ? text : jsonIn(text));
}

export function mayBeLeftOut(body: ZodType): boolean {
  return body.safeParse(undefined).success;
}

function checkContentType({ bodyTypes }: Endpoint, context: Context): void {
  const unsupported = (message: string) => new Refusal('unsupported', 'unsupported_media_type', message);
  const types = bodyTypes ?? ['application/json'];
  const [type, ...parameters] = (context.req.header('content-type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  if (!types.includes(type!)) throw unsupported(`The content type must be ${types.join(' or ')}.`);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) throw unsupported('The body must be UTF-8.');
  const encoding = context.req.header('content-encoding')?.trim().toLowerCase();
  if (encoding && encoding !== 'identity') throw unsupported('The body must not be compressed.');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('malformed', 'malformed_json', 'The body is no JSON.');
  }
}

/** Reads no more than it may, whatever the length was said to be. */
export async function bytesOf(
  { bodyBytes: most = BODY_BYTES }: Endpoint,
  context: Context,
): Promise<Uint8Array> {
  const tooLarge = () => new Refusal('too_large', 'body_too_large', `The body is larger than ${most} bytes.`);
  if (Number(context.req.header('content-length') ?? 0) > most) throw tooLarge();
  const bytes = await atMost(context, most);
  if (!bytes) throw tooLarge();
  return bytes;
}

/** One byte order mark at the beginning is passed over. */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal('malformed', 'malformed_json', 'The body is not UTF-8.');
  }
}

/** Null where there are more than that. */
async function atMost(context: Context, most: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of context.req.raw.body ?? []) {
      size += chunk.byteLength;
      if (size > most) return null;
      chunks.push(chunk);
    }
  } catch (cause) {
    // Whoever sent it has gone, most likely; it is no failure of ours in any case.
    throw new Refusal('malformed', 'malformed_request', 'The body ended before it was complete.', { cause });
  }
  return Buffer.concat(chunks);
}

function parse(schema: ZodType, value: unknown): unknown {
  // First, since it also bounds the depth: schemas follow JSON as deep as it goes.
  checkStorable(value);
  const parsed = schema.safeParse(value, { error: inWords });
  if (!parsed.success) throw invalid(issuesOf(parsed.error));
  return parsed.data;
}

function issuesOf(error: ZodError): { path: string; message: string }[] {
  return error.issues
    .slice(0, ISSUES)
    .flatMap(meant)
    .slice(0, ISSUES)
    .map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
}

type Issue = ZodError['issues'][number];

/** Of several shapes the one that fits deepest is the one that was meant: what is wrong in it says more than "none fits". */
function meant(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const fits = issue.errors.map(depth);
  const deepest = Math.max(0, ...fits);
  const [at, another] = [fits.indexOf(deepest), fits.lastIndexOf(deepest)];
  if (deepest < 2 || at !== another) return [issue];
  return issue.errors[at]!.map((one) => ({ ...one, path: [...issue.path, ...one.path] }) as Issue).flatMap(
    meant,
  );
}

function depth(issues: readonly Issue[]): number {
  const depths = issues.map(
    (issue) =>
      issue.path.length + (issue.code === 'invalid_union' ? Math.max(0, ...issue.errors.map(depth)) : 0),
  );
  return Math.max(0, ...depths);
}

function invalid(given: { path: string; message: string }[]): Refusal {
  const issues = given.map(({ path, message }) => ({ path: clip(path), message: clip(message) }));
  const [first] = issues;
  const where = first?.path ? `"${first.path}" ` : '';
  return new Refusal('invalid', 'invalid_request', `The request is not valid: ${where}${first?.message}.`, {
    issues,
  });
}

function clip(text: string): string {
  return text.length <= TOLD ? text : `${text.slice(0, TOLD).toWellFormed()}…`;
}
