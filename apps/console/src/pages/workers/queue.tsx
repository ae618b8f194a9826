import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { cx } from '../../blocks/cx.ts';
import { Card } from '../../blocks/page.tsx';
import { Empty, Notice } from '../../blocks/states.tsx';
import { Table } from '../../blocks/table.tsx';
import { formatDuration, formatNumber, shortId } from '../../data/format.ts';
import { doorWord, useWhoWorks } from '../runs/names.ts';

/** How long a run may be due before somebody should look. */
const LONG_MS = 10_000;

/** What waits for a worker, and why. */
export function Queue({ queue, workers }: { queue: Api.Queue; workers: Api.Worker[] | null }) {
  const due = queue.oldest.filter(({ dueAt, waitsForCode }) => dueAt <= queue.now && !waitsForCode?.length);
  const oldest = due.length > 0 ? Date.parse(queue.now) - Date.parse(due[0]!.dueAt) : null;
  const missing = [...new Set(queue.oldest.flatMap(({ waitsForCode }) => waitsForCode ?? []))];
  return (
    <>
      <dl className="grid grid-cols-2 gap-3 md:grid-cols-5">
        <Figure name="Due now" value={formatNumber(queue.due)} />
        <Figure
          name="Oldest is due for"
          value={oldest === null ? '–' : formatDuration(oldest)}
          isBad={oldest !== null && oldest > LONG_MS}
        />
        <Figure name="Due later" value={formatNumber(queue.later)} />
        <Figure name="Waiting for their turn" value={formatNumber(queue.inTurn)} />
        <Figure
          name="Waiting for functions"
          value={formatNumber(queue.forFunctions)}
          isBad={queue.forFunctions > 0}
        />
      </dl>
      <Advice queue={queue} workers={workers} oldest={oldest} missing={missing} />
      <Card title="Queue" flush>
        {queue.oldest.length === 0 ? (
          <Empty title="The queue is empty" className="py-8!">
            Runs are here from when they are made until a worker takes them, mostly for milliseconds.
          </Empty>
        ) : (
          <QueueTable queue={queue} />
        )}
      </Card>
    </>
  );
}

/** What to do about what waits. */
function Advice({
  queue,
  workers,
  oldest,
  missing,
}: {
  queue: Api.Queue;
  workers: Api.Worker[] | null;
  oldest: number | null;
  missing: string[];
}) {
  const atWork = workers?.filter(({ state }) => state === 'working');
  const isFull = atWork && atWork.length > 0 && atWork.every(({ taken, places }) => taken >= places);
  return (
    <>
      {queue.forFunctions > 0 && (
        <Notice tone="warn">
          {queue.forFunctions} {queue.forFunctions === 1 ? 'run waits' : 'runs wait'} for functions that no
          worker has
          {missing.length > 0 && `: ${missing.join(', ')}`}. Start a worker with the module that has them (
          <code className="font-mono text-xs">troupe work</code> in its folder), or take the tools from the
          agents.
        </Notice>
      )}
      {atWork?.length === 0 && queue.due > 0 && (
        <Notice tone="bad">
          {queue.due} {queue.due === 1 ? 'run is' : 'runs are'} due, and no worker takes them. Start one with{' '}
          <code className="font-mono text-xs">troupe work</code>.
        </Notice>
      )}
      {isFull && oldest !== null && oldest > LONG_MS && (
        <Notice tone="warn">
          All places are taken. Start another worker, or give those that are there more places.
        </Notice>
      )}
    </>
  );
}

function QueueTable({ queue }: { queue: Api.Queue }) {
  const whoWorks = useWhoWorks();
  const all = queue.due + queue.later + queue.inTurn + queue.forFunctions;
  return (
    <>
      <Table
        label="First of the queue"
        items={queue.oldest}
        keyOf={(run) => run.id}
        columns={[
          {
            name: 'Run',
            cell: (run) => (
              <Link
                to="/runs/$runId"
                params={{ runId: run.id }}
                className="rounded-sm font-mono text-xs hover:underline"
              >
                {shortId(run.id)}
              </Link>
            ),
          },
          { name: 'Agent or network', cellClass: 'max-w-56 truncate', cell: (run) => whoWorks(run) },
          { name: 'Door', cellClass: 'text-muted', cell: (run) => doorWord(run.door) },
          { name: 'Failed tries', isRight: true, cell: (run) => run.attempt || '' },
          {
            name: 'Waits for',
            cellClass: 'max-w-72 truncate text-muted',
            title: (run) => run.waitsForCode?.join(', '),
            cell: (run) =>
              run.waitsForCode?.length ? (
                <span className="text-warn">{run.waitsForCode.join(', ')}</span>
              ) : run.dueAt > queue.now ? (
                'its time'
              ) : (
                'a place'
              ),
          },
          { name: 'Due', isRight: true, time: (run) => run.dueAt },
        ]}
      />
      {all > queue.oldest.length && (
        <p className="border-t border-line px-4 py-2 text-xs text-faint">
          The first {queue.oldest.length} of {formatNumber(all)}.{' '}
          <Link to="/runs" search={{ status: 'queued' }} className="rounded-sm underline underline-offset-2">
            All that are queued
          </Link>
        </p>
      )}
    </>
  );
}

function Figure({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return (
    <div className="rounded-lg border border-line bg-surface px-4 py-3 shadow-low">
      <dt className="truncate text-xs text-muted">{name}</dt>
      <dd className={cx('text-xl font-semibold tabular-nums', isBad && 'text-warn')}>{value}</dd>
    </div>
  );
}
