import type { Json, ToolRequest } from '@troupe/protocol';
import { mapTexts, type TemplatePart, TroupeError, templateOf, valueAt } from '../../base/index.ts';

export interface Rendered {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
}

interface Values {
  input: Json;
  secrets: ReadonlyMap<string, string>;
}

/** The secrets that a request names, each once. */
export function secretsIn({ url, headers, query, body = null }: ToolRequest): string[] {
  const names = new Set<string>();
  const note = (text: string) => {
    for (const part of templateOf(text)) if (part.from === 'secrets') names.add(part.name);
    return text;
  };
  mapTexts([url, headers, query, body], note);
  return [...names];
}

/** What is sent for these arguments. */
export function render(request: ToolRequest, values: Values): Rendered {
  const body = bodyOf(request, values);
  return { url: urlOf(request, values), method: request.method, ...body };
}

function urlOf({ url: template, query }: ToolRequest, values: Values): string {
  const text = inText(template, values, 'the address', encodeURIComponent);
  const path = text.split(/[?#]/, 1)[0]!;
  // A text of dots alone would lead out of its place in the path, and encoding does not change dots.
  if (path !== template && /\/(\.|%2e){1,2}(\/|$)/i.test(path))
    throw new TroupeError(
      'argument_invalid',
      'A value in the address must not be "." or "..". Give another one.',
    );
  // Values are encoded, so each stands in the place of its template: an empty one would make another address of it.
  const places = template.split(/[?#]/, 1)[0]!.split('/');
  if (path.split('/').some((place, index) => place === '' && places[index]?.includes('{{')))
    throw new TroupeError('argument_invalid', 'A value in the path of the address must not be empty.');
  const url = new URL(text);
  if (url.origin !== new URL(template).origin)
    throw new TroupeError('argument_invalid', 'The arguments would change whom the tool talks to.');
  for (const [name, given] of Object.entries(query)) {
    const value = typeof given === 'string' ? whole(given, values, `the parameter "${name}"`) : given;
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined && item !== null) url.searchParams.append(name, plain(item));
  }
  return url.href;
}

function bodyOf(
  { method, headers: templates, body: template }: ToolRequest,
  values: Values,
): Pick<Rendered, 'headers' | 'body'> {
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(templates)) {
    const value = whole(text, values, `the header "${name}"`);
    if (value !== undefined && value !== null) headers[name.toLowerCase()] = inHeader(name, plain(value));
  }
  const sendsArguments = template === undefined && !['GET', 'HEAD', 'DELETE'].includes(method);
  const body = template === undefined ? undefined : filled(template, values);
  const content = sendsArguments ? values.input : body;
  if (content === undefined) return { headers, body: undefined };
  const type = headers['content-type'];
  // A text that stands for itself is sent as it is; one that came out of the input is JSON like everything else.
  const asText =
    typeof template === 'string' &&
    typeof content === 'string' &&
    (type ? !isJson(type) : !isWhole(template));
  if (asText) return { headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body: content };
  if (type?.startsWith('application/x-www-form-urlencoded')) return { headers, body: formOf(content) };
  return { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(content) };
}

export function isJson(type: string): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(type);
}

function formOf(content: Json): string {
  if (content === null || typeof content !== 'object') return plain(content);
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(content))
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== null) form.append(name, plain(item));
  return form.toString();
}

function inHeader(name: string, value: string): string {
  if (/[\r\n\0]/.test(value))
    throw new TroupeError(
      'argument_invalid',
      `The header "${name}" must be one line. Give a value without line breaks.`,
    );
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    throw new TroupeError(
      'argument_invalid',
      `The header "${name}" cannot hold the characters of this value.`,
    );
  return value;
}

/** JSON with its templates filled in; what is one template and has no value is left out. */
function filled(template: Json, values: Values): Json | undefined {
  if (typeof template === 'string') return whole(template, values, 'the body');
  if (template === null || typeof template !== 'object') return template;
  if (Array.isArray(template))
    return template.map((item) => filled(item, values)).filter((item) => item !== undefined);
  const entries = Object.entries(template).map(([key, item]) => [key, filled(item, values)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined)) as Json;
}

function isWhole(template: string): boolean {
  const parts = templateOf(template);
  return parts.length === 1 && parts[0]!.from !== 'text';
}

/** The value itself where the text is one template and nothing else; undefined where there is none. */
function whole(template: string, values: Values, where: string): Json | undefined {
  const parts = templateOf(template);
  return parts.length === 1 ? valueFor(parts[0]!, values) : inText(template, values, where, (text) => text);
}

/** Where a value is part of a text, it must be there. */
function inText(template: string, values: Values, where: string, write: (text: string) => string): string {
  return templateOf(template)
    .map((part) => {
      if (part.from === 'text') return part.text;
      const value = valueFor(part, values);
      if (value === undefined || value === null) {
        const name = part.from === 'input' ? part.path.join('.') : part.name;
        throw new TroupeError('argument_missing', `"${name}" is needed for ${where}. Call the tool with it.`);
      }
      return write(plain(value).toWellFormed());
    })
    .join('');
}

function valueFor(part: TemplatePart, { input, secrets }: Values): Json | undefined {
  if (part.from === 'text') return part.text;
  return part.from === 'input' ? valueAt(input, part.path) : secrets.get(part.name);
}

function plain(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
