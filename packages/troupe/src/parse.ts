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
