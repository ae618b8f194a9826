import { linesOf } from './line.ts';
import { useTroupe } from './provider.tsx';
import type { Connection } from './results.ts';
import { useShared } from './shared.ts';

const NOTHING = {};

/** Of everything that is followed with the client: `offline` as soon as one thing is. */
export function useConnection(): Connection {
  return useShared(linesOf(useTroupe()), NOTHING).connection;
}
