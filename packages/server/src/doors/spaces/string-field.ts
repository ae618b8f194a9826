const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Reads one string field of a JSON object while the object is still being written, wherever the pieces of it end: within a
 * key, an escape, or between the two halves of a character. Broken JSON gives less text, never another.
 */
export class StringField {
  readonly #field: string;
  #depth = 0;
  #inString = false;
  #readsKey = false;
  #captures = false;
  #done = false;
  #key = '';
  /** Whether the next string of the object is a key. */
  #expectsKey = false;
  /** What of an escape has come: a backslash, or that and up to `u` and three digits. */
  #escape = '';
  /** The first half of a character whose second half has not come yet. */
  #half = '';

  constructor(field: string) {
    this.#field = field;
  }

  /** The text that this piece adds. */
  push(piece: string): string {
    let out = '';
    for (let at = 0; at < piece.length && !this.#done; at++) out += this.#take(piece[at]!);
    return out;
  }

  #take(unit: string): string {
    if (this.#inString) return this.#inside(unit);
    if (unit === '"') {
      this.#inString = true;
      this.#readsKey = this.#depth === 1 && this.#expectsKey;
      this.#captures = this.#depth === 1 && !this.#expectsKey && this.#key === this.#field;
      if (this.#readsKey) this.#key = '';
    } else if (unit === '{' || unit === '[') {
      this.#depth += 1;
      if (this.#depth === 1) this.#expectsKey = unit === '{';
    } else if (unit === '}' || unit === ']') this.#depth -= 1;
    else if (this.#depth === 1 && unit === ':') this.#expectsKey = false;
    else if (this.#depth === 1 && unit === ',') this.#expectsKey = true;
    return '';
  }

  #inside(unit: string): string {
    if (this.#escape !== '') return this.#escaped(unit);
    if (unit === '\\') {
      this.#escape = unit;
      return '';
    }
    if (unit !== '"') return this.#add(unit);
    this.#inString = false;
    if (this.#captures) this.#done = true;
    return '';
  }

  #escaped(unit: string): string {
    this.#escape += unit;
    if (this.#escape.startsWith('\\u') && this.#escape.length < 6) return '';
    const whole = this.#escape;
    this.#escape = '';
    if (!whole.startsWith('\\u')) return this.#add(ESCAPES[unit] ?? unit);
    const code = Number.parseInt(whole.slice(2), 16);
    return Number.isNaN(code) ? '' : this.#add(String.fromCharCode(code));
  }

  #add(unit: string): string {
    if (this.#readsKey) this.#key += unit;
    if (!this.#captures) return '';
    if (isFirstHalf(unit)) {
      this.#half = unit;
      return '';
    }
    const whole = this.#half + unit;
    this.#half = '';
    return whole;
  }
}

function isFirstHalf(unit: string): boolean {
  const code = unit.charCodeAt(0);
  return code >= 0xd800 && code <= 0xdbff;
}
