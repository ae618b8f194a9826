import type { Troupe } from '@troupe/sdk';
import type { Given } from '../parse.ts';
import type { Terminal } from '../terminal.ts';

export interface Surroundings extends Given {
  troupe: Troupe;
  terminal: Terminal;
}

export type Command = (given: Surroundings) => Promise<void>;
