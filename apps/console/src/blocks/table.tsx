import type { ComponentProps, ReactNode } from 'react';
import { cx } from './cx.ts';

/** A table that scrolls sideways in its frame where the window is narrow. */
export function Table({ head, children, label }: { head: ReactNode; children: ReactNode; label: string }) {
  return (
    <section aria-label={label} className="relative overflow-x-auto">
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="border-b border-line text-left text-xs text-faint">{head}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

export function Th({ className, ...rest }: ComponentProps<'th'>) {
  return <th scope="col" {...rest} className={cx('px-4 py-2 font-medium whitespace-nowrap', className)} />;
}

export function Tr({ className, ...rest }: ComponentProps<'tr'>) {
  return <tr {...rest} className={cx('border-b border-line last:border-0 hover:bg-hover', className)} />;
}

export function Td({ className, ...rest }: ComponentProps<'td'>) {
  return <td {...rest} className={cx('px-4 py-2 align-middle', className)} />;
}
