import type { ComponentProps, ReactNode } from 'react';
import { cx } from './cx.ts';

/** Safari takes them from what is not drawn as a table. */
const as = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  columnheader: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

/**
 * A table. In a narrow place its rows are stacked: the first cell is what the row is called, cells with a `label` stand below each other with
 * it, and one without (what can be done) is beside the name. With `narrow="scroll"`, for what must be read across, it scrolls in its frame.
 */
export function Table({
  head,
  children,
  label,
  narrow = 'stack',
}: {
  head: ReactNode;
  children: ReactNode;
  label: string;
  narrow?: 'stack' | 'scroll';
}) {
  return (
    <section
      aria-label={label}
      className={cx('relative overflow-x-auto', narrow === 'stack' && '@container')}
    >
      <table {...as.table} className={cx('w-full border-collapse text-sm', narrow === 'stack' && 'stacks')}>
        <caption className="sr-only">{label}</caption>
        <thead {...as.rowgroup}>
          <tr {...as.row} className="border-b border-line text-left text-xs text-faint">
            {head}
          </tr>
        </thead>
        <tbody {...as.rowgroup}>{children}</tbody>
      </table>
    </section>
  );
}

export function Th({ className, ...rest }: ComponentProps<'th'>) {
  return (
    <th
      {...as.columnheader}
      scope="col"
      {...rest}
      className={cx('px-4 py-2 font-medium whitespace-nowrap', className)}
    />
  );
}

export function Tr({ className, ...rest }: ComponentProps<'tr'>) {
  return (
    <tr
      {...as.row}
      {...rest}
      className={cx('border-b border-line last:border-0 hover:bg-hover', className)}
    />
  );
}

/** `label` is what its column is called, for where rows are stacked. */
export function Td({ className, label, ...rest }: ComponentProps<'td'> & { label?: string }) {
  return <td {...as.cell} data-label={label} {...rest} className={cx('px-4 py-2 align-middle', className)} />;
}
