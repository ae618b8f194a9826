import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { ApiError } from '@troupe/sdk';
import { Server } from 'lucide-react';
import { cx } from '../../blocks/cx.ts';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty, Loaded, Notice } from '../../blocks/states.tsx';
import { Table } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { formatDuration, shortId } from '../../data/format.ts';
import { FailedJobs } from './failed-jobs.tsx';
import { Queue } from './queue.tsx';

const EVERY = 2_000;

/** Who works, and what waits for them. */
export function WorkersPage() {
  const workers = useQuery({
    queryKey: ['workers'],
    queryFn: () => troupe.system.workers(),
    refetchInterval: EVERY,
  });
  const queue = useQuery({
    queryKey: ['queue'],
    queryFn: () => troupe.system.queue({ query: { limit: 50 } }),
    refetchInterval: EVERY,
  });
  // They work for all projects; only the first one is told of them.
  const isHidden = workers.error instanceof ApiError && [403, 404].includes(workers.error.status);
  return (
    <Page title="Workers" about="Processes that execute runs, and the queue that they take them from.">
      <div className="flex flex-col gap-4">
        {isHidden ? (
          <Notice>Workers are shared by all projects, and shown to the one that runs the server.</Notice>
        ) : (
          <Card title="Processes" flush>
            <Loaded query={workers}>
              {({ data, now }) => (data.length === 0 ? <NoWorkers /> : <Workers workers={data} now={now} />)}
            </Loaded>
          </Card>
        )}
        <Loaded query={queue}>
          {(data) => (
            <>
              <Queue queue={data} workers={workers.data?.data ?? null} />
              {data.failedJobs && <FailedJobs jobs={data.failedJobs} />}
            </>
          )}
        </Loaded>
      </div>
    </Page>
  );
}

function NoWorkers() {
  return (
    <Empty icon={Server} title="No worker">
      Runs stay in the queue until one is there. Start one with{' '}
      <code className="font-mono text-xs">troupe work</code>, on this machine or any other that reaches the
      database.
    </Empty>
  );
}

const states: Record<Api.Worker['state'], { word: string; tone: string; about: string }> = {
  working: { word: 'Working', tone: 'bg-good-soft text-good', about: 'It takes runs.' },
  draining: {
    word: 'Draining',
    tone: 'bg-warn-soft text-warn',
    about: 'It takes nothing new, and ends when what it has is done or handed back.',
  },
  silent: {
    word: 'Silent',
    tone: 'bg-bad-soft text-bad',
    about: 'No heartbeat came for longer than it may; others take its runs over.',
  },
};

function Workers({ workers, now }: { workers: Api.Worker[]; now: string }) {
  return (
    <Table
      label="Workers"
      items={workers}
      keyOf={({ id }) => id}
      columns={[
        {
          name: 'State',
          cell: (worker) => {
            const { word, tone, about } = states[worker.state];
            return (
              <span title={about} className={cx('rounded-full px-2 py-0.5 text-xs font-medium', tone)}>
                {word}
              </span>
            );
          },
        },
        {
          name: 'Process',
          cellClass: 'max-w-64',
          cell: ({ id, host, pid }) => (
            <>
              <span className="block truncate font-medium" title={host}>
                {host}
              </span>
              <span className="block text-2xs whitespace-nowrap text-faint" title={id}>
                pid {pid} · {shortId(id)}
              </span>
            </>
          ),
        },
        {
          name: 'Heartbeat',
          cellClass: 'whitespace-nowrap tabular-nums',
          cell: ({ lastBeatAt, state }) => {
            const age = Math.max(0, Date.parse(now) - Date.parse(lastBeatAt));
            return (
              <span className={cx(state === 'silent' && 'text-bad')}>
                {age < 1_000 ? 'just now' : `${formatDuration(age)} ago`}
              </span>
            );
          },
        },
        {
          name: 'Places taken',
          className: 'min-w-44',
          cell: ({ taken, places }) => <Places taken={taken} places={places} />,
        },
        {
          name: 'Functions',
          cellClass: 'max-w-72',
          cell: ({ functions }) => (
            <span className="line-clamp-2 text-xs text-muted" title={functions.join(', ')}>
              {functions.join(', ') || 'none'}
            </span>
          ),
        },
        { name: 'Started', isRight: true, time: ({ startedAt }) => startedAt },
      ]}
    />
  );
}

function Places({ taken, places }: { taken: number; places: number }) {
  const share = places > 0 ? Math.min(1, taken / places) : 0;
  return (
    <span className="flex items-center gap-2">
      <meter className="sr-only" min={0} max={places} value={taken}>
        {taken} of {places}
      </meter>
      <span aria-hidden="true" className="h-1.5 min-w-20 flex-1 overflow-hidden rounded-full bg-sunken">
        <span
          className={cx('block h-full rounded-full', share >= 1 ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${share * 100}%` }}
        />
      </span>
      <span className="text-xs text-muted tabular-nums">
        {taken} of {places}
      </span>
    </span>
  );
}
