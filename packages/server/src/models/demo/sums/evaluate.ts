import type { Operator, Token } from './tokens.ts';

export type Result =
  | { value: number }
  | { problem: 'malformed' | 'unclosed' | 'division_by_zero' | 'too_large' | 'not_real' };

type Pending = Operator | 'negate' | '(';

const PRECEDENCE: Record<Exclude<Pending, '('>, number> = {
  '+': 1,
  '-': 1,
  '*': 2,
  '/': 2,
  negate: 3,
  '^': 4,
};

/** Shunting-yard: two stacks, each token once, so neither length nor nesting can exhaust anything. */
export function evaluate(tokens: readonly Token[]): Result {
  const values: number[] = [];
  const pending: Pending[] = [];
  let wantsValue = true;
  let problem: 'division_by_zero' | 'too_large' | 'not_real' | undefined;

  function settle(least: number): void {
    for (
      let top = pending.at(-1);
      top !== undefined && top !== '(' && PRECEDENCE[top] >= least;
      top = pending.at(-1)
    ) {
      pending.pop();
      const right = values.pop()!;
      if (top === 'negate') values.push(-right);
      else {
        const left = values.pop()!;
        const value = apply(top, left, right);
        problem ??= problemOf(top, left, right, value);
        values.push(value);
      }
    }
  }

  for (const token of tokens) {
    if (token.kind === 'other') return { problem: 'malformed' };
    if (token.kind === 'number' || token.kind === 'open') {
      if (!wantsValue) {
        if (token.kind === 'number') return { problem: 'malformed' };
        settle(PRECEDENCE['*']); // 2(3+4)
        pending.push('*');
      }
      if (token.kind === 'open') pending.push('(');
      else values.push(token.value);
      wantsValue = token.kind === 'open';
    } else if (token.kind === 'operator' && wantsValue) {
      if (token.operator === '-') pending.push('negate');
      else if (token.operator !== '+') return { problem: 'malformed' };
    } else if (wantsValue) return { problem: 'malformed' };
    else if (token.kind === 'percent') values.push(values.pop()! / 100);
    else if (token.kind === 'close') {
      settle(0);
      if (pending.pop() !== '(') return { problem: 'malformed' };
    } else {
      // A power binds to the right: 2^3^2 is 2^9.
      settle(token.operator === '^' ? PRECEDENCE['^'] + 1 : PRECEDENCE[token.operator]);
      pending.push(token.operator);
      wantsValue = true;
    }
  }
  if (wantsValue) return { problem: 'malformed' };
  settle(0);
  if (pending.length > 0) return { problem: 'unclosed' };
  return problem ? { problem } : { value: values[0]! };
}

function apply(operator: Operator, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '^':
      return left ** right;
  }
}

/** Seen where it arises: what is computed from an infinity afterwards means nothing. */
function problemOf(operator: Operator, left: number, right: number, value: number) {
  if (operator === '/' && right === 0) return 'division_by_zero';
  if (operator === '^' && left === 0 && right < 0) return 'division_by_zero';
  if (Number.isNaN(value)) return 'not_real';
  return Number.isFinite(value) ? undefined : 'too_large';
}
