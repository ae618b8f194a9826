import type { Json } from '@troupe/protocol';

/** Text in which the values of secrets must not show. */
export interface Hidden {
  text(text: string): string;
  /** Of a text whose end was cut off: without the beginning of a value at its end. */
  cut(text: string): string;
  json(value: Json): Json;
}

/** Shorter ones are hidden as they are; in other forms they would be found everywhere. */
const SHORTEST = 4;

/** Hides the values, as they are and as they are written in addresses, in JSON and in base64, behind the secrets' names. */
export function hiddenOf(secrets: ReadonlyMap<string, string>): Hidden {
  const needles = [...secrets].flatMap(([name, value]) => formsOf(value).map((form) => ({ name, form })));
  // The longest first: what is part of another must not break it.
  needles.sort((one, two) => two.form.length - one.form.length);
  const names = new Map(needles.map(({ name, form }) => [form.toLowerCase(), name]));
  const pattern =
    needles.length > 0 ? new RegExp(needles.map(({ form }) => escaped(form)).join('|'), 'gi') : null;
  const text = (given: string) =>
    pattern
      ? given.replaceAll(pattern, (found) => `[secret ${names.get(found.toLowerCase()) ?? 'value'}]`)
      : given;
  const cut = (given: string) => {
    const whole = text(given);
    const tail = whole.slice(-(needles[0]?.form.length ?? 0)).toLowerCase();
    const hanging = needles.map(({ form }) => {
      let length = Math.min(form.length - 1, tail.length);
      while (length > 0 && !tail.endsWith(form.slice(0, length).toLowerCase())) length--;
      return length;
    });
    return whole.slice(0, whole.length - Math.max(0, ...hanging));
  };
  const json = (value: Json): Json => {
    if (!pattern) return value;
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : text(String(value));
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map(json);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), json(item)]));
  };
  return { text, cut, json };
}

function formsOf(value: string): string[] {
  const forms = new Set([value, value.trim()]);
  if (value.length >= SHORTEST) {
    for (const form of derived(value)) forms.add(form);
    // Basic credentials are kept as base64; who is sent them reads the name and the password within.
    const credentials = decoded(value);
    if (credentials !== null) {
      const password = credentials.slice(credentials.indexOf(':') + 1);
      for (const part of [credentials, password]) {
        if (part.length < SHORTEST) continue;
        forms.add(part);
        for (const form of derived(part)) forms.add(form);
      }
    }
  }
  forms.delete('');
  return [...forms];
}

function derived(value: string): string[] {
  const inForm = new URLSearchParams({ '': value }).toString().slice(1);
  const inUrl = new URL(`http://h/?${value.replaceAll(/[#\s]/g, encodeURIComponent)}`).search.slice(1);
  const inPath = encodeURI(value.toWellFormed());
  const inJson = JSON.stringify(value).slice(1, -1);
  const inHtml = value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
  return [
    encodeURIComponent(value.toWellFormed()),
    inForm,
    inUrl,
    inPath,
    inJson,
    inHtml,
    ...inBase64(value),
  ];
}

/**
 * What base64 makes of it wherever it stands in a longer text, such as `name:password`: at three offsets, without the letters at
 * both ends that depend on what is around it.
 */
function inBase64(value: string): string[] {
  const bytes = Buffer.from(value);
  const forms = [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const sure = text.slice([0, 2, 3][offset], Math.floor(((offset + bytes.length) * 8) / 6));
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [bytes.toString('base64'), ...forms.filter((form) => form.length >= SHORTEST + 2)];
}

function decoded(value: string): string | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return null;
  const text = Buffer.from(value, 'base64').toString('utf8');
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(text) ? text : null;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
