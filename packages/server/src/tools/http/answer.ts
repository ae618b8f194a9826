import type { Json, JsonObject, ToolResponse } from '@troupe/protocol';
import { imageType, TroupeError, valueAt } from '../../base/index.ts';
import type { Hidden, OutgoingResponse } from '../../outgoing/index.ts';
import { isJson } from './request.ts';

/** Of an answer that is an error, this much is told. */
const TOLD = 3_000;

/** What the model gets of an answer: `{ status, data }`, or what is picked from its JSON. Throws what it is told instead. */
export function outcomeOf(answer: OutgoingResponse, shape: ToolResponse, hidden: Hidden): Json {
  const { status, cut } = answer;
  const type = answer.headers.get('content-type') ?? '';
  const text = textOf(answer, type);
  const told =
    text === null ? `${answer.body.byteLength} bytes of ${type || 'no type'}` : beginning(text, cut, hidden);
  if (status < 200 || status > 299) {
    const said = told === '' ? ', without saying more' : `: ${told}`;
    throw new TroupeError('http_status', `The server answered with the status ${status}${said}`);
  }
  if (answer.body.byteLength === 0) return shape.pick === undefined ? { status, data: null } : null;
  const wantsJson =
    shape.as === 'json' || (shape.as === 'auto' && (isJson(type) || shape.pick !== undefined));
  if (wantsJson) {
    if (cut) throw tooLarge(shape.maxBytes);
    return picked(status, hidden.json(jsonIn(text, { type: hidden.text(type), told })), shape);
  }
  if (text === null) {
    const image = imageIn(answer);
    if (image) return { status, content: [image] };
    const what = hidden.text(type) || 'something without a content type';
    throw new TroupeError(
      'response_not_text',
      `The server answered with ${what}, which is no text that can be read.`,
    );
  }
  return cutToFit(status, cut ? hidden.cut(text) : hidden.text(text), { cut, maxBytes: shape.maxBytes });
}

/** The body as an MCP image block, if it is a complete image in a format that models accept. */
function imageIn({ body, cut }: OutgoingResponse): JsonObject | null {
  if (cut) return null;
  const data = Buffer.from(body).toString('base64');
  const mimeType = imageType(data);
  return mimeType && { type: 'image', mimeType, data };
}

function beginning(text: string, cut: boolean, hidden: Hidden): string {
  const clean = cut ? hidden.cut(text) : hidden.text(text);
  return clean.length > TOLD ? `${clean.slice(0, TOLD).toWellFormed()}… (cut off)` : clean.trim();
}

function tooLarge(maxBytes: number): TroupeError {
  return new TroupeError(
    'response_too_large',
    `The answer has more than ${maxBytes} bytes, so its JSON cannot be read. The request was carried out; ask for less.`,
  );
}

function jsonIn(text: string | null, { type, told }: { type: string; told: string }): Json {
  try {
    return JSON.parse(text ?? '');
  } catch {
    throw new TroupeError(
      'response_not_json',
      `The server answered with ${type || 'no content type'} that is no JSON. It begins: ${told.slice(0, 1_000)}`,
    );
  }
}

function picked(status: number, data: Json, { pick }: ToolResponse): Json {
  if (pick === undefined) return { status, data };
  if (typeof pick !== 'string')
    return Object.fromEntries(
      Object.entries(pick).map(([name, pointer]) => [name, at(data, pointer) ?? null]),
    );
  const value = at(data, pick);
  if (value !== undefined) return value;
  throw new TroupeError(
    'pick_missing',
    `There is nothing at ${pick} of the answer. It begins: ${JSON.stringify(data).slice(0, 1_000).toWellFormed()}`,
  );
}

/** RFC 6901. */
function at(data: Json, pointer: string): Json | undefined {
  const path = pointer.split('/').slice(1);
  return valueAt(
    data,
    path.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')),
  );
}

/** Null where it is not text, or not that of its charset. */
function textOf({ body, cut }: OutgoingResponse, type: string): string | null {
  const [, charset = 'utf-8'] = /charset="?([\w-]+)/i.exec(type) ?? [];
  if (/^(image|audio|video|font)\//i.test(type) && !/svg/i.test(type)) return null;
  try {
    // The end of what was cut off may be half a character.
    const text = new TextDecoder(charset, { fatal: true }).decode(body, { stream: cut });
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

/** As much of the text as fits, quotes and all: an agent takes no more from a tool than this either, by default. */
function cutToFit(status: number, text: string, { cut, maxBytes }: { cut: boolean; maxBytes: number }): Json {
  const size = (value: Json) => Buffer.byteLength(JSON.stringify(value));
  if (!cut && size({ status, data: text }) <= maxBytes) return { status, data: text };
  const note = 'The answer was longer; the rest is left out.';
  let [least, most] = [0, text.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (size({ status, data: text.slice(0, middle), note }) <= maxBytes) least = middle;
    else most = middle - 1;
  }
  return { status, data: text.slice(0, least).toWellFormed(), note };
}
