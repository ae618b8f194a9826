import type { Json } from '@troupe/protocol';

// Values of one to three characters, and `true` and `false`, cannot be looked for within texts: they are everywhere. They are hidden
// where they stand alone: under the name that they were given by, and texts of two or three characters wherever they are the whole of a text.

/** Longer values are looked for within texts too. */
export const SHORTEST = 4;

export interface ShortValue {
  /** What is shown instead: the parameter, and the way to the value within it. */
  label: string;
  /** The name that it was given under; of an item of a list, that of the list. */
  key: string;
  value: string | number | boolean;
}

export function hideShort(shorts: readonly ShortValue[]): (value: Json) => Json {
  if (shorts.length === 0) return (value) => value;
  const named = (value: string | number | boolean, key: string | null) =>
    shorts.find(
      (short) =>
        (key?.toLowerCase() === short.key.toLowerCase() && String(value) === String(short.value)) ||
        (typeof short.value === 'string' && short.value.length > 1 && value === short.value),
    );
  const hide = (value: Json, key: string | null): Json => {
    if (value === null) return null;
    if (Array.isArray(value)) return value.map((item) => hide(item, key));
    if (typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, hide(item, name)]));
    const short = named(value, key);
    if (short) return `[secret ${short.label}]`;
    return typeof value === 'string' ? withinJson(value) : value;
  };
  /** A text that is JSON: what a server sent back as it got it. */
  const withinJson = (text: string): string => {
    if (!/^\s*[[{]/.test(text)) return text;
    try {
      const before = JSON.parse(text) as Json;
      const after = hide(before, null);
      return JSON.stringify(after) === JSON.stringify(before) ? text : JSON.stringify(after);
    } catch {
      return text;
    }
  };
  return (value) => hide(value, null);
}
