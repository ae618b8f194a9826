import type { Program } from './program.ts';

/** Says what the process did or is: the facts to a program; to a person the text, where the log does not say it already. */
export function tell({ json, version }: Program, facts: object, text?: string): void {
  if (json) console.log(JSON.stringify({ version, ...facts }));
  else if (text !== undefined) console.log(text);
}
