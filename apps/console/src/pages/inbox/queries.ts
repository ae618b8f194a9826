import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { systemQuery } from '../../shell/system.ts';
import { type InboxItem, itemOfCall, itemOfDelivery } from './items.ts';

const limit = 100;

export const callsOfRunQuery = (runId: string) =>
  queryOptions({
    queryKey: ['inbox', 'of run', runId],
    queryFn: async () => {
      const [people, clients] = await Promise.all([
        troupe.inbox.list({ query: { runId, limit: 50 } }),
        troupe.inbox.list({ query: { runId, waitsFor: 'client', limit: 50 } }),
      ]);
      return [...people.data, ...clients.data];
    },
  });

/** Everything that waits, those that wait for longest first. */
export function useInbox() {
  const { data: system } = useQuery(systemQuery);
  // Triggers are no business of single people.
  const seesTriggers = system !== undefined && system.caller.kind !== 'user';
  const people = useCursorPages(['inbox', 'people'], (page) => troupe.inbox.list({ query: page }), { limit });
  const clients = useCursorPages(
    ['inbox', 'clients'],
    (page) => troupe.inbox.list({ query: { waitsFor: 'client', ...page } }),
    { limit },
  );
  const deliveries = useCursorPages(
    ['deliveries', 'dead'],
    (page) => troupe.triggers.deliveries({ query: { status: 'dead', ...page } }),
    { limit, enabled: seesTriggers },
  );
  const lists = [people, clients, ...(seesTriggers ? [deliveries] : [])];
  const items = useMemo(() => {
    const all: InboxItem[] = [
      ...(people.items ?? []).map(itemOfCall),
      ...(clients.items ?? []).map(itemOfCall),
      ...(deliveries.items ?? []).map(itemOfDelivery),
    ];
    return all.sort((one, other) => one.at.localeCompare(other.at));
  }, [people.items, clients.items, deliveries.items]);
  return {
    items,
    isLoading: lists.some((list) => list.items === undefined && !list.error),
    error: lists.find((list) => list.error)?.error ?? null,
    refetch: () => {
      for (const list of lists) list.refetch();
    },
    hasMore: lists.some((list) => list.hasMore),
    /** Kinds of which there are more than are loaded. */
    unfinished: [
      ...(people.hasMore ? (['approval', 'doubt', 'question'] as const) : []),
      ...(clients.hasMore ? (['tool'] as const) : []),
      ...(deliveries.hasMore ? (['delivery'] as const) : []),
    ],
    isLoadingMore: lists.some((list) => list.isLoadingMore),
    loadMore: () => {
      for (const list of lists) if (list.hasMore) list.loadMore();
    },
  };
}
