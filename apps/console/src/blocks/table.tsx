import { Link } from '@tanstack/react-router';
import { Fragment, type Key, type ReactNode } from 'react';
import { cx } from './cx.ts';
import { When } from './when.tsx';

/** Safari takes them from what is not drawn as a table. */
const as = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  columnheader: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

export interface Column<Item> {
  name: string;
  /** What is shown above the column, unless it is the name. */
  head?: ReactNode;
  cell?: (item: Item, index: number) => ReactNode;
  /** Instead of a cell: a time, such as that of the last change. */
  time?: (item: Item) => string | null;
  /** Numbers and times stand at the right. */
  isRight?: boolean;
  /** Beside the name of the row, without a label, where rows are stacked; its name is read to screen readers only. */
  isAction?: boolean;
  /** Without a label where rows are stacked. */
  isPlain?: boolean;
  /** Its cells are the headers of their rows. */
  isHeader?: boolean;
  /** Classes of the header and the cells, such as those that hide the column. */
  className?: string;
  cellClass?: string;
  title?: (item: Item) => string | undefined;
}

export interface TableProps<Item> {
  label: string;
  columns: readonly (Column<Item> | false | null | undefined)[];
  keyOf: (item: Item, index: number) => Key;
  rowClass?: (item: Item) => string;
  /** A row below the item's own, over all columns. */
  below?: (item: Item) => ReactNode;
  narrow?: 'stack' | 'scroll';
}

export function Th({ className, children }: { className?: string; children: ReactNode }) {
  return (
    <th {...as.columnheader} scope="col" className={cx('px-4 py-2 font-medium whitespace-nowrap', className)}>
      {children}
    </th>
  );
}

/**
 * A table. In a narrow place its rows are stacked: the first cell names the row, the others stand below each other with the names of their
 * columns, and actions are beside the name. With `narrow="scroll"`, for rows that must be read across, it scrolls in its frame.
 */
export function Table<Item>({
  label,
  columns,
  items,
  keyOf,
  rowClass,
  below,
  narrow = 'stack',
}: TableProps<Item> & { items: readonly Item[] }) {
  const shown = columns.filter((column) => !!column);
  return (
    <section
      aria-label={label}
      className={cx('relative overflow-x-auto', narrow === 'stack' && '@container')}
    >
      <table {...as.table} className={cx('w-full border-collapse text-sm', narrow === 'stack' && 'stacks')}>
        <caption className="sr-only">{label}</caption>
        <thead {...as.rowgroup}>
          <tr {...as.row} className="border-b border-line text-left text-xs text-faint">
            {shown.map(({ name, head = name, isRight, isAction, className }) => (
              <Th key={name} className={cx(isRight && 'text-right', className)}>
                {isAction ? <span className="sr-only">{name}</span> : head}
              </Th>
            ))}
          </tr>
        </thead>
        <tbody {...as.rowgroup}>
          {items.map((item, index) => (
            <Fragment key={keyOf(item, index)}>
              <tr
                {...as.row}
                className={cx('border-b border-line last:border-0 hover:bg-hover', rowClass?.(item))}
              >
                {shown.map(
                  (
                    { name, cell, time, isRight, isAction, isPlain, isHeader, className, cellClass, title },
                    at,
                  ) => {
                    const Cell = isHeader ? 'th' : 'td';
                    return (
                      <Cell
                        key={name}
                        {...(isHeader ? { role: 'rowheader', scope: 'row' } : as.cell)}
                        data-label={at === 0 || isAction || isPlain ? undefined : name}
                        title={title?.(item)}
                        className={cx(
                          'px-4 py-2 align-middle',
                          isRight && 'text-right tabular-nums',
                          isAction && 'w-px whitespace-nowrap',
                          time && 'text-muted',
                          className,
                          cellClass,
                        )}
                      >
                        {time ? <When value={time(item)} /> : cell?.(item, index)}
                      </Cell>
                    );
                  },
                )}
              </tr>
              {below?.(item) && (
                <tr {...as.row} className="border-b border-line bg-sunken @max-2xl:grid-cols-1">
                  <td {...as.cell} colSpan={shown.length} className="px-4 py-3">
                    {below(item)}
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The first cell of a row: the name, as a link to its page, and a line about it. */
export function NameCell({
  to,
  name,
  about,
  mono = false,
}: {
  to: string;
  name: string;
  about?: string | null;
  /** The name is an identifier. */
  mono?: boolean;
}) {
  return (
    <>
      <Link
        to={to}
        title={name}
        className={cx('block truncate rounded-sm font-medium hover:underline', mono && 'font-mono text-xs')}
      >
        {name}
      </Link>
      {about && (
        <p className="truncate text-xs text-muted" title={about}>
          {about}
        </p>
      )}
    </>
  );
}
