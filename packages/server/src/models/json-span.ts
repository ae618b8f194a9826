const DEEPEST = 500;

/**
 * The index after the JSON object or array that opens at `start`, or undefined where it never closes or is nested
 * deeper than `JSON.stringify` can be trusted with.
 * One pass, aware of strings; whether it is valid JSON is for `JSON.parse` to say.
 */
export function jsonSpanEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      if (++depth > DEEPEST) return undefined;
    } else if (character === '}' || character === ']') {
      if (--depth === 0) return at + 1;
    }
  }
  return undefined;
}
