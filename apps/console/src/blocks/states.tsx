import { ApiError, AuthenticationError, ConnectionError } from '@troupe/sdk';
import { CircleAlert, Inbox, PlugZap, SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button, Spinner } from './button.tsx';
import { cx } from './cx.ts';
import { Icon, type IconSource } from './icon.tsx';

/** Nothing there: what would be here, and how to make the first one. */
export function Empty({
  icon = Inbox,
  title,
  children,
  action,
  className,
}: {
  icon?: IconSource;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  className?: string;
}) {
  return (
    <div className={cx('flex flex-col items-center justify-center gap-2 px-6 py-12 text-center', className)}>
      <div className="mb-1 grid size-11 place-items-center rounded-lg bg-sunken text-faint">
        <Icon of={icon} size={20} />
      </div>
      <p className="font-semibold">{title}</p>
      {children && <div className="max-w-[52ch] text-sm text-muted">{children}</div>}
      {action && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

export function Loading({ label = 'Loading…', className }: { label?: string; className?: string }) {
  return (
    <output
      data-loading
      className={cx('flex items-center justify-center gap-2 px-6 py-12 text-sm text-muted', className)}
    >
      <Spinner /> {label}
    </output>
  );
}

/** What went wrong, in the server's own words, and what to do next. */
export function Failure({
  error,
  retry,
  className,
}: {
  error: unknown;
  retry?: () => void;
  className?: string;
}) {
  const { title, text, icon } = tellingOf(error);
  return (
    <div role="alert" className={cx('flex flex-col items-center gap-2 px-6 py-12 text-center', className)}>
      <div className="mb-1 grid size-11 place-items-center rounded-lg bg-bad-soft text-bad">{icon}</div>
      <p className="font-semibold">{title}</p>
      <p className="max-w-[60ch] text-sm break-words text-muted">{text}</p>
      {error instanceof ApiError && <p className="font-mono text-2xs text-faint">{error.code}</p>}
      {retry && (
        <Button className="mt-2" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

function tellingOf(error: unknown): { title: string; text: string; icon: ReactNode } {
  if (error instanceof AuthenticationError || (error instanceof ApiError && error.status === 403))
    return {
      title: 'This key may not do that',
      text: error.message,
      icon: <CircleAlert size={20} aria-hidden="true" />,
    };
  if (error instanceof ApiError && error.status === 404)
    return { title: 'Not found', text: error.message, icon: <SearchX size={20} aria-hidden="true" /> };
  if (error instanceof ConnectionError)
    return {
      title: 'The server does not answer',
      text: 'Is it running? The page tries again by itself.',
      icon: <PlugZap size={20} aria-hidden="true" />,
    };
  return {
    title: 'That did not work',
    text: error instanceof Error ? error.message : String(error),
    icon: <CircleAlert size={20} aria-hidden="true" />,
  };
}

/** One line for forms and dialogs. */
export function Notice({
  tone = 'info',
  children,
  className,
}: {
  tone?: 'info' | 'good' | 'warn' | 'bad';
  children: ReactNode;
  className?: string;
}) {
  const tones = {
    info: 'bg-info-soft text-info',
    good: 'bg-good-soft text-good',
    warn: 'bg-warn-soft text-warn',
    bad: 'bg-bad-soft text-bad',
  };
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={cx('rounded-md px-3 py-2 text-sm break-words', tones[tone], className)}
    >
      {children}
    </div>
  );
}

/** The three states of a query, so that no page forgets one. */
export function Loaded<Data>({
  query,
  children,
}: {
  query: { data: Data | undefined; error: unknown; refetch(): unknown };
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Loading />;
}
