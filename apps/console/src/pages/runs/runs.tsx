import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Activity } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import { Button, buttonClass } from '../../blocks/button.tsx';
import { Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading, Notice } from '../../blocks/states.tsx';
import { type Act, BulkBar, BulkDialog } from './bulk.tsx';
import type { RunsSearch } from './filter.ts';
import { Filters } from './filters.tsx';
import { useListKeys } from './list-keys.ts';
import { useWhoWorks } from './names.ts';
import { useRunList } from './run-list.ts';
import { RunTable } from './run-table.tsx';
import { SavedViews } from './saved-views.tsx';

export function RunsPage() {
  const search = useSearch({ from: '/runs' });
  const navigate = useNavigate();
  const change = (changed: { [Name in keyof RunsSearch]?: RunsSearch[Name] | undefined }) => {
    const next = Object.entries({ ...search, ...changed }).filter(([, value]) => value !== undefined);
    // Back leads to the filters before; not letter by letter.
    const replace = 'search' in changed;
    void navigate({ to: '/runs', search: Object.fromEntries(next) as RunsSearch, replace });
  };
  return (
    <Page title="Runs" about="Every activation of an agent or a network, newest first." fill>
      <div className="flex h-full min-h-0 flex-col">
        <div className="flex flex-col gap-2 border-b border-line bg-surface px-4 py-2 md:px-6">
          <SavedViews search={search} />
          <Filters search={search} onChange={change} />
        </div>
        <RunList key={JSON.stringify(search)} search={search} />
      </div>
    </Page>
  );
}

function RunList({ search }: { search: RunsSearch }) {
  const { newest, runs, hasMore, loadMore, isLoadingMore, moreError } = useRunList(search);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const whoWorks = useWhoWorks();
  const select = useCallback((id: string, isSelected: boolean) => {
    setSelected((before) => {
      const next = new Set(before);
      if (isSelected) next.add(id);
      else next.delete(id);
      return next;
    });
  }, []);
  useListKeys({
    ids: runs.map(({ id }) => id),
    current,
    onMove: setCurrent,
    onToggle: (id) => select(id, !selected.has(id)),
  });
  // Kept apart from what is selected: runs leave the list while it is done, and what became of them is still to be told.
  const [bulk, setBulk] = useState<{ act: Act; runs: Api.ListedRun[] } | null>(null);
  const chosen = useMemo(() => runs.filter(({ id }) => selected.has(id)), [runs, selected]);

  if (newest.error && runs.length === 0)
    return <Failure error={newest.error} retry={() => void newest.refetch()} className="flex-1" />;
  if (!newest.data && runs.length === 0) return <Loading className="flex-1" />;
  const dialog = bulk && <BulkDialog {...bulk} onClose={() => setBulk(null)} />;
  if (runs.length === 0)
    return (
      <>
        <NoRuns isFiltered={Object.keys(search).length > 0} />
        {dialog}
      </>
    );
  return (
    <>
      {chosen.length > 0 && (
        <BulkBar
          runs={chosen}
          onAct={(act) => setBulk({ act, runs: chosen })}
          onClear={() => setSelected(new Set())}
        />
      )}
      {dialog}
      {newest.error ? (
        <Notice tone="warn" className="rounded-none">
          The list may be out of date: {String((newest.error as Error).message)}
        </Notice>
      ) : null}
      <div ref={scroller} className="min-h-0 flex-1 overflow-auto bg-surface [overflow-anchor:none]">
        <RunTable
          runs={runs}
          selected={selected}
          onSelect={select}
          onSelectAll={(all) => setSelected(new Set(all ? runs.map(({ id }) => id) : []))}
          current={current}
          whoWorks={whoWorks}
          scroller={scroller}
          onEnd={() => void loadMore()}
        />
        <div className="flex items-center justify-center gap-3 px-4 py-3 text-xs text-faint">
          {moreError ? (
            <span className="text-bad">
              {moreError instanceof Error ? moreError.message : String(moreError)}
            </span>
          ) : null}
          {hasMore ? (
            <Button size="small" busy={isLoadingMore} onClick={() => void loadMore()}>
              Load more
            </Button>
          ) : (
            <span>
              {runs.length} {runs.length === 1 ? 'run' : 'runs'}, that is all.
            </span>
          )}
        </div>
      </div>
      <p className="hidden border-t border-line bg-surface px-6 py-1 text-2xs text-faint md:block">
        <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> open · <kbd>x</kbd> select · <kbd>/</kbd> search
      </p>
    </>
  );
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty
        className="flex-1"
        icon={Activity}
        title="No run fits these filters"
        action={
          <Link to="/runs" search={{}} className={buttonClass()}>
            Show all runs
          </Link>
        }
      />
    );
  return (
    <Empty
      className="flex-1"
      icon={Activity}
      title="Nothing has run yet"
      action={
        <Link to="/sessions" className={buttonClass('primary')}>
          Talk to an agent
        </Link>
      }
    >
      A run is one activation of an agent or a network, from what began it to its end. Say something to an
      agent, and its run is here, step by step.
    </Empty>
  );
}
