import type { Json } from '@troupe/protocol';

/** A piece of a text with `{{input.path.to.value}}` and `{{secrets.NAME}}` in it. */
export type TemplatePart =
  | { from: 'text'; text: string }
  | { from: 'input'; path: string[] }
  | { from: 'secrets'; name: string };

const OPEN = '{{';
const CLOSE = '}}';

/** Throws a sentence about the first template that means nothing. */
export function templateOf(text: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf(OPEN, at);
    if (open !== at) parts.push({ from: 'text', text: text.slice(at, open < 0 ? undefined : open) });
    if (open < 0) break;
    const close = text.indexOf(CLOSE, open);
    if (close < 0) throw new Error(`has "${OPEN}" without "${CLOSE}"`);
    parts.push(partOf(text.slice(open + OPEN.length, close).trim()));
    at = close + CLOSE.length;
  }
  return parts;
}

function partOf(expression: string): TemplatePart {
  const [from, ...path] = expression.split('.');
  if (from === 'input' && path.every((key) => key !== '')) return { from, path };
  if (from === 'secrets' && /^[A-Za-z_][A-Za-z0-9_.-]{0,99}$/.test(path.join('.')))
    return { from, name: path.join('.') };
  throw new Error(
    `has "${OPEN}${expression.slice(0, 100)}${CLOSE}"; known are {{input.…}} and {{secrets.NAME}}`,
  );
}

/** What stands under a path of names and numbers; undefined where nothing does. */
export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let found = value;
  for (const key of path) {
    if (found === null || typeof found !== 'object' || !Object.hasOwn(found, key)) return undefined;
    if (Array.isArray(found) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    found = (found as { [key: string]: Json })[key];
  }
  return found;
}

/** Every text within, changed; keys stay. */
export function mapTexts(value: Json, change: (text: string) => Json): Json {
  if (typeof value === 'string') return change(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}
