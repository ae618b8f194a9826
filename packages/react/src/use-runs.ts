import type { Api, Troupe } from '@troupe/sdk';
import { ListStore } from './list-store.ts';
import { useTroupe } from './provider.tsx';
import type { ListResult } from './results.ts';
import { sharedOf, useShared } from './shared.ts';

type Query = NonNullable<NonNullable<Parameters<Troupe['runs']['list']>[0]>['query']>;
export type RunsFilter = Omit<Query, 'cursor'>;

/** Runs, newest first. `limit` is how many a page has. */
export function useRuns({ limit = 50, ...filter }: RunsFilter = {}): ListResult<Api.Run> {
  const troupe = useTroupe();
  const store = sharedOf(
    troupe,
    `runs ${JSON.stringify({ ...filter, limit })}`,
    () =>
      new ListStore<Api.Run>(troupe, {
        noun: 'runs',
        ask: (page) => troupe.runs.list({ query: { ...filter, ...page } }),
        pageSize: Number(limit),
        nameOf: ({ id }) => id,
      }),
  );
  return useShared(store, store.listing);
}
