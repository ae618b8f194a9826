import type { Json } from '@troupe/protocol';
import { type Layer, layersOf, withoutBroken } from './layers.ts';

/** Text in which the values of secrets must not show. */
export interface Hidden {
  text(text: string): string;
  /** Of a text whose end was cut off: without the beginning of a value at its end. */
  cut(text: string): string;
  json(value: Json): Json;
}

/** Shorter ones are hidden as they are; in other forms they would be found everywhere. */
const SHORTEST = 4;

/**
 * Hides the values behind the secrets' names: as they are, as they are written in addresses, in JSON, in HTML, in base64 and in hex, and
 * however often they were escaped on top of that. Takes time in proportion to the text.
 */
export function hiddenOf(secrets: Iterable<readonly [name: string, value: string]>): Hidden {
  const needles = [...secrets].flatMap(([name, value]) => formsOf(value).map((form) => ({ name, form })));
  if (needles.length === 0) return { text: (given) => given, cut: (given) => given, json: (value) => value };
  // The longest first: what is part of another must not break it.
  needles.sort((one, two) => two.form.length - one.form.length);
  const names = new Map(needles.map(({ name, form }) => [form.toLowerCase(), name]));
  const forms = [...names.keys()];
  const placesIn = finderOf(needles.map(({ form }) => form));

  const foundIn = (layers: Layer[]): Found[] => {
    const found = layers.flatMap((layer) =>
      placesIn(layer.text).map(([form, index]) => ({
        name: names.get(form.toLowerCase()) ?? 'value',
        start: layer.startOf(index),
        end: layer.endOf(index + form.length - 1),
      })),
    );
    return apart(found);
  };
  const text = (given: string) => without(given, foundIn(layersOf(given)));
  const cut = (given: string) => {
    const layers = layersOf(given);
    const found = foundIn(layers);
    const hanging = Math.min(
      given.length,
      ...[...layers, ...layersOf(withoutBroken(given))].map((layer) => hangingIn(layer, forms)),
    );
    // What begins within a whole value is hidden with it.
    const end = found.find(({ start, end }) => start < hanging && hanging < end)?.end ?? hanging;
    return without(
      given.slice(0, end),
      found.filter(({ start }) => start < end),
    );
  };
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : text(String(value));
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map(json);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), json(item)]));
  };
  return { text, cut, json };
}

/** Of one regular expression, and of one value in it. Those that are too large cannot be used: what is thrown then tells all of it. */
const LONGEST_PATTERN = 20_000;
const LONGEST_FORM = 1_000;

/** All places of any of these texts, whatever the case, with what stands there. */
function finderOf(forms: readonly string[]): (text: string) => [form: string, index: number][] {
  const long = forms.filter(({ length }) => length > LONGEST_FORM).map((form) => searchFor(folded(form)));
  const patterns: RegExp[] = [];
  let together: string[] = [];
  let size = 0;
  const close = () => {
    if (together.length > 0) patterns.push(new RegExp(together.join('|'), 'gi'));
    [together, size] = [[], 0];
  };
  for (const form of forms.filter(({ length }) => length <= LONGEST_FORM)) {
    if (size + form.length > LONGEST_PATTERN) close();
    together.push(escaped(form));
    size += form.length;
  }
  close();
  return (text) => {
    const found = patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ 0: form, index }): [string, number] => [form, index]),
    );
    if (long.length === 0) return found;
    const lower = folded(text);
    for (const { form, ends } of long)
      for (const end of ends(lower)) found.push([text.slice(end - form.length, end), end - form.length]);
    return found;
  };
}

/** The same letters in one case, as many as before. */
function folded(text: string): string {
  return text.replaceAll('\u0130', 'i').replaceAll(/[Σς]/g, 'σ').toLowerCase();
}

/** By Knuth, Morris and Pratt: in proportion to the text, whatever the value is like. */
function searchFor(form: string) {
  const back = new Int32Array(form.length);
  for (let at = 1, length = 0; at < form.length; at++) {
    while (length > 0 && form[at] !== form[length]) length = back[length - 1]!;
    if (form[at] === form[length]) length++;
    back[at] = length;
  }
  /** How much of the form stands at the end of the text, but for all of it; each end of a whole one is told. */
  const follow = (text: string, onEnd?: (end: number) => void): number => {
    let length = 0;
    for (let at = 0; at < text.length; at++) {
      while (length > 0 && text[at] !== form[length]) length = back[length - 1]!;
      if (text[at] === form[length]) length++;
      if (length < form.length) continue;
      onEnd?.(at + 1);
      length = back[length - 1]!;
    }
    return length;
  };
  const ends = (text: string): number[] => {
    const found: number[] = [];
    follow(text, (end) => found.push(end));
    return found;
  };
  return { form, ends, begunAtEnd: (text: string) => follow(text) };
}

interface Found {
  name: string;
  start: number;
  end: number;
}

/** In order; those that overlap are one. */
function apart(found: Found[]): Found[] {
  found.sort((one, two) => one.start - two.start || two.end - one.end);
  const kept: Found[] = [];
  for (const one of found) {
    const last = kept.at(-1);
    if (last && one.start < last.end) last.end = Math.max(last.end, one.end);
    else kept.push(one);
  }
  return kept;
}

function without(text: string, found: Found[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { name, start, end } of found) {
    parts.push(text.slice(at, start), `[secret ${name}]`);
    at = end;
  }
  return parts.join('') + text.slice(at);
}

/** Where the beginning of a value at the end of the text starts. An escape that was cut in two may stand behind it. */
function hangingIn(layer: Layer, forms: string[]): number {
  const longest = Math.max(...forms.map((form) => form.length));
  const starts = [layer.text, withoutBroken(layer.text)].flatMap((text) => {
    const tail = text.slice(-longest).toLowerCase();
    return forms.map((form) => {
      const length = searchFor(form).begunAtEnd(tail.slice(-form.length));
      return length === 0 ? Number.POSITIVE_INFINITY : layer.startOf(text.length - length);
    });
  });
  return Math.min(...starts);
}

function formsOf(value: string): string[] {
  const forms = new Set([value, value.trim()]);
  if (value.length >= SHORTEST) {
    for (const form of derived(value)) forms.add(form);
    // What looks like an escape within the value is read as one wherever the text around it is.
    for (const { text } of layersOf(value)) if (text.length >= SHORTEST) forms.add(text);
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
    value.replaceAll(' ', '+'),
    value.normalize('NFC'),
    value.normalize('NFD'),
    // As the bytes of a header are read by those who take them for another charset.
    Buffer.from(value).toString('latin1'),
    ...(['utf8', 'latin1'] as const).flatMap((charset) => {
      const bytes = Buffer.from(value, charset);
      return [bytes.toString('hex'), ...inBase64(bytes)];
    }),
  ];
}

/**
 * What base64 makes of it wherever it stands in a longer text, such as `name:password`: at three offsets, without the letters at
 * both ends that depend on what is around it.
 */
function inBase64(bytes: Buffer): string[] {
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
