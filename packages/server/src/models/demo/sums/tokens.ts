export type Operator = '+' | '-' | '*' | '/' | '^';

export type Token = { start: number; end: number } & (
  | { kind: 'number'; value: number }
  | { kind: 'operator'; operator: Operator }
  | { kind: 'open' }
  | { kind: 'close' }
  | { kind: 'percent' }
  /** Anything else; `text` in lower case. */
  | { kind: 'other'; text: string }
);

const TOKEN = /(\d+(?:,\d+)*(?:\.\d+)?|\.\d+)|(\*\*|[-+*/^×÷·−–()%])|([\p{L}_']+)|(\S)/gu;
const OPERATORS = new Map<string, Operator>([
  ['+', '+'],
  ['-', '-'],
  ['−', '-'],
  ['–', '-'],
  ['*', '*'],
  ['×', '*'],
  ['·', '*'],
  ['/', '/'],
  ['÷', '/'],
  ['^', '^'],
  ['**', '^'],
  ['plus', '+'],
  ['minus', '-'],
  ['times', '*'],
  ['x', '*'],
]);

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const written = match[0].toLowerCase();
    const place = { start: match.index, end: match.index + match[0].length };
    const before = tokens.at(-1);
    const operator = OPERATORS.get(written);
    if (match[1] !== undefined) tokens.push({ ...place, ...numberOf(written) });
    else if (operator) tokens.push({ ...place, kind: 'operator', operator });
    else if (written === '(' || written === ')')
      tokens.push({ ...place, kind: written === '(' ? 'open' : 'close' });
    else if (written === '%') tokens.push({ ...place, kind: 'percent' });
    else if (written === 'of' && before?.kind === 'percent') {
      tokens.push({ ...place, kind: 'operator', operator: '*' });
    } else if (written === 'by' && before?.kind === 'other' && /^(?:divided|multiplied)$/.test(before.text)) {
      const byWord: Operator = before.text === 'divided' ? '/' : '*';
      tokens[tokens.length - 1] = { start: before.start, end: place.end, kind: 'operator', operator: byWord };
    } else tokens.push({ ...place, kind: 'other', text: written });
  }
  return tokens;
}

/** Not a number: `007` and the parts of a date, and commas that do not part thousands. */
function numberOf(written: string): { kind: 'number'; value: number } | { kind: 'other'; text: string } {
  const odd =
    /^0\d/.test(written) || (written.includes(',') && !/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(written));
  return odd
    ? { kind: 'other', text: written }
    : { kind: 'number', value: Number(written.replaceAll(',', '')) };
}
