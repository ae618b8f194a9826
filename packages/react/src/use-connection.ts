import type { Connection } from './results.ts';

/** Of everything that is followed with the client: `offline` as soon as one thing is. */
export function useConnection(): Connection {
  throw new Error('not yet');
}
