import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { cx } from './cx.ts';

interface Crumb {
  label: ReactNode;
  to?: string;
}

/**
 * A page: its place (`crumbs`), its name, what can be done with it, and its body. `fill` gives the body the whole height and no padding, for
 * chats, graphs and long lists that scroll by themselves.
 */
export function Page({
  title,
  heading,
  crumbs = [],
  actions,
  about,
  fill = false,
  children,
}: {
  /** For the tab of the browser, and as the heading where that is not given. */
  title: string;
  heading?: ReactNode;
  crumbs?: Crumb[];
  actions?: ReactNode;
  /** One sentence on what this is. */
  about?: ReactNode;
  fill?: boolean;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Troupe`;
  }, [title]);
  return (
    <div className={cx('flex min-w-0 flex-col', fill ? 'h-full min-h-0' : 'min-h-full')}>
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-3 md:px-6">
        <div className="min-w-0 flex-1 basis-60">
          {crumbs.length > 0 && (
            <nav aria-label="Where you are" className="flex min-w-0 items-center gap-1 text-xs text-faint">
              {crumbs.map(({ label, to }, index) => (
                <span key={to ?? index} className="flex min-w-0 items-center gap-1">
                  {to ? (
                    <Link to={to} className="truncate rounded-sm hover:text-text hover:underline">
                      {label}
                    </Link>
                  ) : (
                    <span className="truncate">{label}</span>
                  )}
                  <ChevronRight size={12} aria-hidden="true" className="shrink-0" />
                </span>
              ))}
            </nav>
          )}
          <h1 className="truncate text-lg font-semibold tracking-tight">{heading ?? title}</h1>
          {about && <p className="max-w-[75ch] text-sm text-muted">{about}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div className={cx('min-w-0 flex-1', fill ? 'min-h-0' : 'px-4 py-5 md:px-6')}>{children}</div>
    </div>
  );
}

/** A framed part of a page. */
export function Card({
  title,
  actions,
  children,
  className,
  flush = false,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
  /** Without padding, for tables and lists. */
  flush?: boolean;
}) {
  return (
    <section
      className={cx('min-w-0 overflow-hidden rounded-lg border border-line bg-surface shadow-low', className)}
    >
      {(title || actions) && (
        <header className="flex min-h-11 flex-wrap items-center gap-2 border-b border-line px-4 py-2">
          <h2 className="min-w-0 flex-1 truncate text-sm font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      <div className={flush ? '' : 'p-4'}>{children}</div>
    </section>
  );
}
