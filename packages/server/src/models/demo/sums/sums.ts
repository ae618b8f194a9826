import type { Reply } from '../reply.ts';
import type { Situation } from '../situation.ts';
import { evaluate } from './evaluate.ts';
import { findSums } from './find.ts';
import { formatted } from './format.ts';
import type { Token } from './tokens.ts';

const MOST_SUMS = 5;
const LONGEST_SHOWN = 60;

const PROBLEMS = {
  malformed: 'I cannot make sense of that sum; please check how it is written.',
  unclosed: 'A parenthesis in that sum is never closed, so I cannot work it out.',
  division_by_zero: 'I am sorry, dividing by zero has no answer.',
  too_large: 'The result is too large for me.',
  not_real: 'That has no answer among the real numbers.',
};

export function sums({ heard }: Situation): Reply | undefined {
  const found = heard ? findSums(heard.plain).slice(0, MOST_SUMS) : [];
  if (found.length === 0) return undefined;
  return { say: found.map((sum) => answer(sum, heard!.plain)).join(' ') };
}

function answer(sum: Token[], text: string): string {
  const result = evaluate(sum);
  if ('problem' in result) return PROBLEMS[result.problem];
  const written = text.slice(sum[0]!.start, sum.at(-1)!.end);
  const { text: value, exact } = formatted(result.value);
  if (written.length > LONGEST_SHOWN) return `The result is ${exact ? '' : 'about '}${value}.`;
  return `${written} ${exact ? '=' : '≈'} ${value}.`;
}
