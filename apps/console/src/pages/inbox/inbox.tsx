import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowLeft, PartyPopper } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Checkbox } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { useWide } from '../../blocks/use-wide.ts';
import { useLive } from '../../data/live.ts';
import { given, type SearchChange } from '../../data/search-values.ts';
import { BulkBar, useBulk } from './bulk.tsx';
import { countsOf, type InboxItem } from './items.ts';
import { useKeys } from './keys.ts';
import { Kinds } from './kinds.tsx';
import { useInbox } from './queries.ts';
import { RejectDialog } from './reject-dialog.tsx';
import { Row } from './row.tsx';
import { kindWords } from './words.ts';

const Detail = lazy(() => import('./detail.tsx'));

/** What waits for a person, whoever it comes from, settled where it stands. */
export function InboxPage() {
  const search = useSearch({ from: '/inbox' });
  const navigate = useNavigate({ from: '/inbox' });
  const isWide = useWide(900);
  const [checked, setChecked] = useState<ReadonlySet<string>>(new Set());
  const [rejected, setRejected] = useState<InboxItem[] | null>(null);
  useLive('inbox');
  useLive('tasks');
  useLive('deliveries');
  const inbox = useInbox();
  const bulk = useBulk(() => setChecked(new Set()));
  const items = inbox.items.filter(({ kind }) => !search.kind || kind === search.kind);
  const at = items.findIndex(({ key }) => key === search.item);
  // What was settled leaves the list, and the one that takes its place is next.
  const current = items[at] ?? (isWide ? items[0] : undefined);
  const selected = items.filter(({ key }) => checked.has(key));
  const change = (values: SearchChange<typeof search>) =>
    void navigate({ search: (before) => given({ ...before, ...values }), replace: true });
  const move = (by: number) => {
    const from = current ? items.indexOf(current) : by > 0 ? -1 : items.length;
    const next = items[Math.min(Math.max(from + by, 0), items.length - 1)];
    if (next) change({ item: next.key });
  };
  const check = (key: string, isChecked: boolean) => {
    const next = new Set(checked);
    if (isChecked) next.add(key);
    else next.delete(key);
    setChecked(next);
  };
  /** Those selected, else the one that is looked at. */
  const meant = () =>
    (selected.length > 0 ? selected : current ? [current] : []).filter(({ kind }) => kind === 'approval');
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => current && check(current.key, !checked.has(current.key)),
    a: () => {
      if (meant().length > 0 && !bulk.approve.isPending) bulk.approve.mutate(meant());
    },
    r: () => {
      if (meant().length > 0) setRejected(meant());
    },
  });
  const list = (
    <>
      {selected.length > 0 && (
        <BulkBar
          items={selected}
          bulk={bulk}
          onReject={() => setRejected(meant())}
          onClear={() => setChecked(new Set())}
        />
      )}
      {items.length > 1 && (
        <div className="flex items-center gap-3 border-b border-line px-4 py-1.5">
          <Checkbox
            label={<span className="text-xs text-muted">Select all</span>}
            checked={selected.length === items.length}
            onChange={(checked) => setChecked(new Set(checked ? items.map(({ key }) => key) : []))}
          />
          <span className="ml-auto text-xs text-faint max-md:hidden">
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> select, <kbd>a</kbd> approve, <kbd>r</kbd> reject
          </span>
        </div>
      )}
      <ul aria-label="What waits">
        {items.map((item) => (
          <Row
            key={item.key}
            item={item}
            isCurrent={item.key === current?.key}
            isChecked={checked.has(item.key)}
            onOpen={() => change({ item: item.key })}
            onCheck={(isChecked) => check(item.key, isChecked)}
          />
        ))}
      </ul>
      <MoreButton list={inbox} />
    </>
  );
  const detail = current && (
    <Suspense fallback={<Loading />}>
      <Detail key={current.key} item={current} />
    </Suspense>
  );
  const nothing = inbox.isLoading ? (
    <Loading />
  ) : inbox.error ? null : (
    <Empty
      icon={PartyPopper}
      title={search.kind ? `${kindWords[search.kind].many}: nothing waits` : 'Nothing waits for you'}
      className="py-20"
    >
      {search.kind
        ? kindWords[search.kind].about
        : 'Approvals, questions, calls of tools that somebody answers, calls in doubt and deliveries that were given up come here.'}
    </Empty>
  );
  return (
    <Page title="Inbox" about="What waits for a person." fill>
      <div className="flex h-full min-h-0 flex-col">
        <Kinds
          unfinished={inbox.unfinished}
          counts={countsOf(inbox.items)}
          kind={search.kind}
          onKind={(kind) => change({ kind, item: undefined })}
        />
        {inbox.error !== null && (
          <Failure
            error={inbox.error}
            retry={inbox.refetch}
            className={cx(items.length > 0 && 'border-b border-line py-4')}
          />
        )}
        {items.length === 0 ? (
          nothing
        ) : isWide ? (
          <div className="flex min-h-0 flex-1">
            <div className="w-[28rem] max-w-[45%] shrink-0 overflow-y-auto border-r border-line bg-surface">
              {list}
            </div>
            <section aria-label="The one you look at" className="min-w-0 flex-1 overflow-y-auto p-6">
              <div className="mx-auto max-w-3xl">{detail}</div>
            </section>
          </div>
        ) : current ? (
          <div className="min-h-0 flex-1 overflow-y-auto p-4">
            <Button
              kind="quiet"
              size="small"
              className="mb-3"
              icon={ArrowLeft}
              onClick={() => change({ item: undefined })}
            >
              All that waits
            </Button>
            {detail}
          </div>
        ) : (
          <div className="min-h-0 flex-1 overflow-y-auto bg-surface">{list}</div>
        )}
      </div>
      {rejected && (
        <RejectDialog
          count={rejected.length}
          onClose={() => setRejected(null)}
          onReject={(reason) => {
            bulk.reject.mutate({ items: rejected, reason });
            setRejected(null);
          }}
        />
      )}
    </Page>
  );
}
