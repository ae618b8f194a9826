import type { Troupe } from '@troupe/sdk';
import type { Given } from '../parse.ts';
import type { Terminal } from '../terminal.ts';

export interface Surroundings extends Given {
  troupe: Troupe;
  terminal: Terminal;
}

/** Answers with the exit code where it is not 0. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands have nothing to say
export type Command = (given: Surroundings) => Promise<number | void>;
