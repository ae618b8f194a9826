import type { ReactNode } from 'react';
import { cx } from './cx.ts';

const tones = {
  quiet: 'bg-sunken text-muted',
  accent: 'bg-accent-soft text-accent-strong',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
};

/** One word about a thing. */
export function Tag({
  tone = 'quiet',
  children,
  className,
  title,
}: {
  tone?: keyof typeof tones;
  children: ReactNode;
  className?: string;
  title?: string;
}) {
  return (
    <span
      title={title}
      className={cx(
        'inline-block max-w-full truncate align-middle rounded-full px-2 py-0.5 text-2xs font-medium whitespace-nowrap [&>svg]:inline [&>svg]:align-[-0.125em]',
        tones[tone],
        className,
      )}
    >
      {children}
    </span>
  );
}
