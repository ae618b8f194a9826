import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Card } from './page.tsx';
import { Failure, Loading } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

/** A list of the API, as far as it is loaded: from `useCursorPages`, or from a query by `asList`. */
export interface ListState<Item> {
  items: readonly Item[] | undefined;
  error: unknown;
  refetch: () => void;
  hasMore?: boolean;
  isLoadingMore?: boolean;
  loadMore?: () => void;
}

/** A query for all items at once, as a list. */
export function asList<Item>(query: {
  data: readonly Item[] | undefined;
  error: unknown;
  refetch: () => unknown;
}): ListState<Item> {
  return { items: query.data, error: query.error, refetch: () => void query.refetch() };
}

interface ListProps<Item> {
  list: ListState<Item>;
  /** What stands here while there is no item. */
  empty: ReactNode;
  children: (items: readonly Item[]) => ReactNode;
}

/** The states of a list: loading, failed, empty, or its items with a button for the next page. */
export function List<Item>({ list, empty, children }: ListProps<Item>) {
  const { items, error, refetch } = list;
  if (!items) return error ? <Failure error={error} retry={refetch} /> : <Loading />;
  if (items.length === 0) return empty;
  return (
    <>
      {children(items)}
      <MoreButton list={list} />
    </>
  );
}

/** Loads the next page of a list, if there is one. */
export function MoreButton({
  list,
}: {
  list: Pick<ListState<unknown>, 'hasMore' | 'isLoadingMore' | 'loadMore'>;
}) {
  if (!list.hasMore) return null;
  return (
    <div className="flex justify-center border-t border-line p-3">
      <Button kind="quiet" busy={list.isLoadingMore ?? false} onClick={list.loadMore}>
        Load more
      </Button>
    </div>
  );
}

/** A list as a table in a frame. */
export function TableList<Item>({
  list,
  empty,
  title,
  actions,
  ...table
}: Omit<ListProps<Item>, 'children'> & TableProps<Item> & { title?: ReactNode; actions?: ReactNode }) {
  return (
    <Card flush title={title} actions={actions}>
      <List list={list} empty={empty}>
        {(items) => <Table {...table} items={items} />}
      </List>
    </Card>
  );
}

/** What is above a list: its filters, and at the right what can be added. */
export function Toolbar({ children, actions }: { children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      {children}
      {actions && <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  );
}
