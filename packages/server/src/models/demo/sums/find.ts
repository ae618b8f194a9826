import { type Token, tokensOf } from './tokens.ts';

const ASKED =
  /\b(?:how much|how many|what(?:'s| is| are| does|s)|calculate|compute|evaluate|solve|work out|add up|result of|equals?)\b|=/i;
const FILLER = new Set(['=', '?', '!', '.', ',', 'please', '@']);

/** The sums that a text asks for; none where it only happens to hold figures, such as a date or a telephone number. */
export function findSums(text: string): Token[][] {
  const tokens = tokensOf(text);
  const asked = ASKED.test(text) || tokens.every((token) => token.kind !== 'other' || FILLER.has(token.text));
  return asked ? runs(tokens).map(trimmed).filter(isSum) : [];
}

/** Stretches without foreign words. */
function runs(tokens: Token[]): Token[][] {
  const found: Token[][] = [];
  let run: Token[] = [];
  for (const token of tokens) {
    if (token.kind !== 'other') run.push(token);
    else if (run.length > 0) {
      found.push(run);
      run = [];
    }
  }
  return run.length > 0 ? [...found, run] : found;
}

/** Without what belongs to the sentence: a dash or an operator at the ends, a bracket opened before the run. */
function trimmed(run: Token[]): Token[] {
  let from = 0;
  let to = run.length;
  while (from < to && !canBegin(run[from]!)) from++;
  while (from < to && (run[to - 1]!.kind === 'operator' || run[to - 1]!.kind === 'open')) to--;
  let open = 0;
  for (let at = from; at < to; at++)
    open += run[at]!.kind === 'open' ? 1 : run[at]!.kind === 'close' ? -1 : 0;
  while (open < 0 && run[to - 1]?.kind === 'close') {
    to--;
    open++;
  }
  return run.slice(from, to);
}

function canBegin(token: Token): boolean {
  if (token.kind === 'operator') return token.operator === '-' || token.operator === '+';
  return token.kind === 'number' || token.kind === 'open';
}

function isSum(run: Token[]): boolean {
  const numbers = run.filter((token) => token.kind === 'number').length;
  return numbers > 1 && run.some((token) => token.kind === 'operator');
}
