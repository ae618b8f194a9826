import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { troupe } from '../../data/client.ts';
import { useLive } from '../../data/live.ts';
import { hasEnded, queryOf, type RunsSearch, stillFits } from './filter.ts';

const PAGE = 100;
/** How many of the older runs that have not ended are looked at again at a time. */
const LOOKED_AT_AGAIN = 20;

interface Held {
  runs: Api.ListedRun[];
  /** Where the runs after these begin; undefined as long as that is told by the newest page. */
  next: string | null | undefined;
}

/**
 * Runs, newest first, of which the newest page is asked for again whenever something changed. What was loaded beyond it stays, and only what
 * has not ended there is looked at again: thousands of loaded runs cost no more than a hundred.
 */
export function useRunList(search: RunsSearch) {
  useLive('runs');
  const [held, setHeld] = useState<Held>({ runs: [], next: undefined });
  const [isLoadingMore, setLoadingMore] = useState(false);
  const [moreError, setMoreError] = useState<unknown>(null);
  const newest = useQuery({
    queryKey: ['runs', 'list', search],
    queryFn: () => troupe.runs.list({ query: { ...queryOf(search), limit: PAGE } }),
  });

  // What falls off the newest page is kept; after more new runs than fit on one, there is a gap, and the list begins anew.
  useEffect(() => {
    const data = newest.data?.data;
    if (!data) return;
    setHeld((before) => {
      if (before.runs.length === 0 || data.length === 0) return { ...before, runs: data.length ? data : [] };
      const ids = new Set(data.map(({ id }) => id));
      const last = data.at(-1)!;
      const isAll = newest.data?.nextCursor === null;
      const kept = isAll ? [] : before.runs.filter((run) => !ids.has(run.id) && isOlder(run, last));
      const overlaps =
        isAll || before.runs.some(({ id }) => ids.has(id)) || isOlder(before.runs[0]!, last) === false;
      if (!overlaps) return { runs: data, next: undefined };
      return { runs: [...data, ...kept], next: kept.length > 0 ? before.next : undefined };
    });
  }, [newest.data]);

  const onNewest = useMemo(() => new Set(newest.data?.data.map(({ id }) => id)), [newest.data]);
  const open = held.runs.filter((run) => !onNewest.has(run.id) && !hasEnded(run)).slice(0, LOOKED_AT_AGAIN);
  const again = useQuery({
    queryKey: ['runs', 'again', open.map(({ id }) => id)],
    enabled: open.length > 0,
    queryFn: () => Promise.all(open.map(({ id }) => troupe.runs.get({ params: { runId: id } }))),
  });
  useEffect(() => {
    const changed = new Map(again.data?.map((run) => [run.id, run]));
    if (changed.size === 0) return;
    setHeld((before) => ({
      ...before,
      runs: before.runs
        .map((run) => {
          const now = changed.get(run.id);
          return now ? { ...now, asked: run.asked } : run;
        })
        .filter((run) => !changed.has(run.id) || stillFits(search, run)),
    }));
  }, [again.data, search]);

  const next = held.next === undefined ? (newest.data?.nextCursor ?? null) : held.next;
  const loadMore = useCallback(async () => {
    if (!next || isLoadingMore) return;
    setLoadingMore(true);
    setMoreError(null);
    try {
      const page = await troupe.runs.list({ query: { ...queryOf(search), limit: PAGE, cursor: next } });
      setHeld((before) => {
        const ids = new Set(before.runs.map(({ id }) => id));
        const added = page.data.filter(({ id }) => !ids.has(id));
        return { runs: [...before.runs, ...added], next: page.nextCursor };
      });
    } catch (error) {
      setMoreError(error);
    } finally {
      setLoadingMore(false);
    }
  }, [next, isLoadingMore, search]);

  // The first page is shown at once, not a render later.
  const runs = held.runs.length > 0 ? held.runs : (newest.data?.data ?? []);
  return { newest, runs, hasMore: next !== null, loadMore, isLoadingMore, moreError };
}

/** As the list is ordered: by when they were made, then by id. */
function isOlder(run: Api.ListedRun, than: Api.ListedRun): boolean {
  return run.createdAt === than.createdAt ? run.id < than.id : run.createdAt < than.createdAt;
}
