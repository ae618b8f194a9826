import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

export interface CursorPage<Item> {
  data: Item[];
  nextCursor: string | null;
}

/** A list of the API, page after page: `items` are those of all pages so far. */
export function useCursorPages<Item>(
  queryKey: QueryKey,
  list: (page: { limit: number; cursor?: string }) => Promise<CursorPage<Item>>,
  { limit = 50, enabled = true }: { limit?: number; enabled?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => list({ limit, ...(pageParam ? { cursor: pageParam } : {}) }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }: CursorPage<Item>) => nextCursor,
    // Another filter shows what was there until it is known what is.
    placeholderData: keepPreviousData,
    enabled,
  });
  const items = query.data?.pages.flatMap(({ data }) => data);
  return {
    items,
    error: query.error,
    isLoading: query.isLoading,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
    refetch: () => void query.refetch(),
  };
}
