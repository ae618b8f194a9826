import type { CommitName } from './state.ts';

/** The places where the state on disk changes. Crash tests kill the process right before and right after each of them. */
export const BOUNDARIES = [
  'start',
  'claim',
  'answer',
  'result',
  'recover',
  'park',
  'retry',
  'fallback',
  'release',
  'finish',
  'settle',
  'expire',
  'reap',
] as const;
export type Boundary = (typeof BOUNDARIES)[number];

/** Called at every boundary; in production nobody listens. */
export type Probe = (
  boundary: Boundary,
  when: 'before' | 'after',
  runIds: readonly string[],
) => void | Promise<void>;

type Covered<Names extends Boundary> = Names;
export type CommitBoundary = Covered<CommitName>;
