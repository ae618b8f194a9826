import { queryOptions } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import type { ReactNode } from 'react';
import { cx } from '../../blocks/cx.ts';
import { troupe } from '../../data/client.ts';
import { formatDuration, formatNumber } from '../../data/format.ts';
import { useWaiting } from '../../shell/waiting.ts';

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: () => troupe.system.overview(),
});

/** How things stand, in five numbers that lead to what they count. */
export function Stats({ overview }: { overview: Api.Overview | undefined }) {
  const { waiting } = useWaiting();
  const oldest = overview?.oldestQueuedMs;
  return (
    <ul aria-label="How things stand" className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-5">
      <Stat
        to="/runs"
        search={{ status: 'running' }}
        label="Running"
        value={overview?.running}
        tone={overview?.running ? 'accent' : 'quiet'}
      />
      <Stat
        to="/workers"
        label="Queued"
        value={overview?.queued}
        note={oldest != null && oldest > 1_000 ? `oldest ${formatDuration(oldest)}` : 'nothing late'}
        tone={oldest != null && oldest > 30_000 ? 'warn' : 'quiet'}
      />
      <Stat
        to="/inbox"
        label="Waiting for you"
        value={overview && waiting}
        note="approvals, tools, questions"
        tone={waiting ? 'warn' : 'quiet'}
      />
      <Stat
        to="/runs"
        search={{ status: 'failed' }}
        label="Failed, last 24 h"
        value={overview?.failed24h}
        tone={overview?.failed24h ? 'bad' : 'quiet'}
      />
      <Stat
        to="/inbox"
        label="Dead deliveries"
        value={overview?.deadDeliveries}
        note="of triggers"
        tone={overview?.deadDeliveries ? 'bad' : 'quiet'}
      />
    </ul>
  );
}

const tones = { quiet: 'text-text', accent: 'text-accent-strong', warn: 'text-warn', bad: 'text-bad' };

function Stat({
  to,
  search,
  label,
  value,
  note,
  tone,
}: {
  to: string;
  search?: Record<string, string>;
  label: string;
  value: number | undefined;
  note?: ReactNode;
  tone: keyof typeof tones;
}) {
  return (
    <li>
      <Link
        to={to}
        {...(search ? { search: search as never } : {})}
        className="block h-full rounded-lg border border-line bg-surface px-4 py-3 shadow-low hover:border-line-strong"
      >
        <span className="block text-xs font-medium text-muted">{label}</span>
        <span className={cx('block text-2xl font-semibold tracking-tight tabular-nums', tones[tone])}>
          {value === undefined ? '–' : formatNumber(value)}
        </span>
        <span className="block min-h-4 text-2xs text-faint">{note}</span>
      </Link>
    </li>
  );
}
