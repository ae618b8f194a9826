import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDemo } from '../../src/models/index.ts';
import { ask, buildRequest, user } from './ask.ts';

const demo = createDemo({ delayMs: 0 });

async function say(text: string): Promise<string> {
  return (await ask(demo, buildRequest({ messages: [user(text)] }))).answer.text;
}

describe('sums', () => {
  it.each([
    ['How much is 2+2?', '2+2 = 4.'],
    ['2+2', '2+2 = 4.'],
    ['2 + 2 = ?', '2 + 2 = 4.'],
    ['what is 2+3*4', '2+3*4 = 14.'],
    ['what is (2+3)*4?', '(2+3)*4 = 20.'],
    ['calculate 10 - 4 - 3', '10 - 4 - 3 = 3.'],
    ['100/10/5', '100/10/5 = 2.'],
    ["What's 1.5 * 4?", '1.5 * 4 = 6.'],
    ['what’s .5+.25', '.5+.25 = 0.75.'],
    ['0.1+0.2', '0.1+0.2 = 0.3.'],
    ['how much is 10/3?', '10/3 ≈ 3.33333333333.'],
    ['-2^2', '-2^2 = -4.'],
    ['(-2)^2', '(-2)^2 = 4.'],
    ['2^3^2', '2^3^2 = 512.'],
    ['2**-1', '2**-1 = 0.5.'],
    ['2--3', '2--3 = 5.'],
    ['-(2+3)*-2', '-(2+3)*-2 = 10.'],
    ['2(3+4)', '2(3+4) = 14.'],
    ['8/2(3+1)', '8/2(3+1) = 16.'],
    ['6 × 7', '6 × 7 = 42.'],
    ['8 ÷ 2', '8 ÷ 2 = 4.'],
    ['what is 3 x 4?', '3 x 4 = 12.'],
    ['what is 12 divided by 4 plus 1', '12 divided by 4 plus 1 = 4.'],
    ['what is 15% of 80?', '15% of 80 = 12.'],
    ['what is 1,000 + 2,500.5?', '1,000 + 2,500.5 = 3500.5.'],
    ['(what is 2+2)', '2+2 = 4.'],
    ['0*5', '0*5 = 0.'],
    ['0-0*1', '0-0*1 = 0.'],
    ['What is 2+2? And 3*3?', '2+2 = 4. 3*3 = 9.'],
    ['what is 9007199254740993*10', '9007199254740993*10 ≈ 90071992547400000.'],
  ])('%s', async (question, answer) => {
    expect(await say(question)).toBe(answer);
  });

  it.each([
    ['5/0', 'dividing by zero'],
    ['what is 1/(2-2)?', 'dividing by zero'],
    ['0/0', 'dividing by zero'],
    ['0^-1', 'dividing by zero'],
    ['9^999', 'too large'],
    ['0*9^999', 'too large'],
    [`${'9'.repeat(400)}+1`, 'too large'],
    ['(0-8)^0.5', 'real numbers'],
    ['what is 2+*3?', 'cannot make sense'],
    ['what is 2 3 + 4', 'cannot make sense'],
    ['what is (2+3', 'never closed'],
    ['what is 2+3)*2', 'cannot make sense'],
    ['what is ()2+3', 'cannot make sense'],
  ])('politely: %s', async (question, part) => {
    expect(await say(question)).toContain(part);
  });

  it.each([
    'the meeting is on 2024-05-01',
    'what is 2024-05-01?',
    'ring 555-1234 now',
    'I am 3-4 years old',
    'what is 5?',
    'what is a-b?',
    'what is -5?',
    'pages 1,2+ of it',
  ])('is not a sum: %s', async (text) => {
    expect(await say(text)).toContain('no rule for that');
  });
});

// An expression and its value, computed apart from the parser.
type Sum = { text: string; value: number };
const { sum } = fc.letrec<{ sum: Sum }>((tie) => ({
  sum: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.integer({ min: 0, max: 99 }).map((value) => ({ text: String(value), value })),
    tie('sum').map((inner) => ({ text: `-(${inner.text})`, value: -inner.value })),
    fc.tuple(tie('sum'), fc.constantFrom('+', '-', '*'), tie('sum')).map(([left, operator, right]) => ({
      text: `(${left.text}) ${operator} (${right.text})`,
      value:
        operator === '+'
          ? left.value + right.value
          : operator === '-'
            ? left.value - right.value
            : left.value * right.value,
    })),
  ),
}));

describe('any sum of whole numbers', () => {
  it('is worked out right', async () => {
    await fc.assert(
      fc.asyncProperty(sum, async ({ text, value }) => {
        fc.pre(Number.isSafeInteger(value) && /\d.*[-+*].*\d/.test(text));
        const answer = await say(`what is ${text}?`);
        expect(Number(/(?:= |The result is )(-?\d+)\.$/.exec(answer)?.[1])).toBe(value === 0 ? 0 : value);
      }),
      { numRuns: 500 },
    );
  });

  it('follows precedence as JavaScript does', async () => {
    const flat = fc
      .tuple(
        fc.integer({ min: 0, max: 20 }),
        fc.array(fc.tuple(fc.constantFrom('+', '-', '*'), fc.integer({ min: 0, max: 20 })), {
          minLength: 1,
          maxLength: 6,
        }),
      )
      .map(([first, rest]) => `${first}${rest.map(([operator, value]) => operator + value).join('')}`);
    await fc.assert(
      fc.asyncProperty(flat, async (text) => {
        const value: number = new Function(`return ${text}`)();
        expect(await say(text)).toBe(`${text} = ${value === 0 ? 0 : value}.`);
      }),
      { numRuns: 300 },
    );
  });
});
