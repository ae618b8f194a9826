import { parseArgs } from 'node:util';
import { UsageError } from './terminal.ts';

const OPTIONS = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  key: { type: 'string' },
  session: { type: 'string' },
  model: { type: 'string' },
  prompt: { type: 'string' },
  format: { type: 'string' },
  status: { type: 'string' },
  agent: { type: 'string' },
  limit: { type: 'string' },
  notes: { type: 'string' },
  of: { type: 'string' },
  title: { type: 'string' },
  follow: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export interface Given {
  words: string[];
  options: {
    [Name in keyof typeof OPTIONS]?: (typeof OPTIONS)[Name]['type'] extends 'boolean' ? boolean : string;
  };
}

export function parse(args: string[]): Given {
  try {
    const { positionals, values } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    return { words: positionals, options: values as Given['options'] };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The next word, or the usage. */
export function wordAt(words: string[], at: number, what: string): string {
  const word = words[at];
  if (word === undefined) throw new UsageError(`${what} is missing`);
  return word;
}

/** A name of two words needs quotes; what is left over would be lost without a sound. */
export function noMoreThan(words: string[], most: number): void {
  const extra = words[most];
  if (extra !== undefined)
    throw new UsageError(`"${extra}" is one word too many; put quotes around a name of several`);
}

export function limitOf({ limit = '50' }: Given['options']): number {
  const number = Number(limit);
  if (!Number.isInteger(number) || number < 1 || number > 200)
    throw new UsageError('--limit must be a number from 1 to 200');
  return number;
}

/** What an option may be. */
export function oneOf<Choice extends string>(
  name: string,
  given: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === given);
  if (!found) throw new UsageError(`--${name} must be ${choices.join(', ')}`);
  return found;
}
