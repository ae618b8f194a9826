import type { GraphAgent } from './types.ts';

export const WIDTH = 224;
/** Chips that are shown; the rest is a number. */
export const CHIPS = 4;

/** Near enough to keep boxes apart before they have been measured. */
export function heightOf({ tools = [], description }: GraphAgent): number {
  const chips = Math.min(tools.length, CHIPS + 1);
  return 54 + (description ? 34 : 0) + (chips > 0 ? 8 + Math.ceil(chips / 2) * 24 : 0);
}
