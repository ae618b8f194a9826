import type { Api, Troupe } from '@troupe/sdk';
import type { ListResult } from './results.ts';

export type RunsFilter = NonNullable<Parameters<Troupe['runs']['list']>[0]>['query'];

/** Runs, newest first. */
export function useRuns(_filter?: RunsFilter): ListResult<Api.Run> {
  throw new Error('not yet');
}
