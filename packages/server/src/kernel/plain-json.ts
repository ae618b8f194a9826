import type { Json } from '@troupe/protocol';
import { toJsonText } from '../store/index.ts';

/** JSON nested deeper than this is refused: nobody needs it, and it can exhaust a parser's stack. */
export const DEEPEST = 64;

export interface Measured {
  value: Json;
  bytes: number;
  /** Infinity where it is nested too deep to be written at all. */
  depth: number;
}

/**
 * A value as the rows will hold it, and how large that is: a copy, so that what is shown to a model now is what any other
 * worker would read later. Throws where it is no JSON at all (a circle, a BigInt).
 */
export function asJson(value: unknown): Measured {
  if (typeof value === 'string') {
    const clean = plainText(value);
    return { value: clean, bytes: Buffer.byteLength(clean) + 2, depth: 0 };
  }
  let text: string | undefined;
  try {
    text = toJsonText(value);
  } catch (error) {
    if (error instanceof RangeError) return { value: null, bytes: 0, depth: Number.POSITIVE_INFINITY };
    throw error;
  }
  // A function, a symbol, nothing.
  if (text === undefined) return { value: null, bytes: 4, depth: 0 };
  const depth = depthOf(text);
  return { value: depth > DEEPEST ? null : JSON.parse(text), bytes: Buffer.byteLength(text), depth };
}

/** Text as Postgres stores it: neither NUL nor half of a surrogate pair. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 92) i++;
      else if (c === 34) inString = false;
    } else if (c === 34) inString = true;
    else if (c === 123 || c === 91) deepest = Math.max(deepest, ++depth);
    else if (c === 125 || c === 93) depth--;
  }
  return deepest;
}
