import { json, record } from '../output.ts';
import type { Surroundings } from './command.ts';

/** One thing: a line for each field, or JSON. */
export function show({ terminal, options }: Surroundings, thing: object): void {
  terminal.out(options.json ? json(thing) : record(thing as Record<string, unknown>));
}
