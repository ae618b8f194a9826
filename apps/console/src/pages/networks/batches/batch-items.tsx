import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge } from '@troupe/ui';
import { useEffect } from 'react';
import { cx } from '../../../blocks/cx.ts';
import { FilterSelect } from '../../../blocks/field.tsx';
import { TableList } from '../../../blocks/list.tsx';
import { Empty } from '../../../blocks/states.tsx';
import { runAddress } from '../../../data/addresses.ts';
import { troupe } from '../../../data/client.ts';
import { useCursorPages } from '../../../data/cursor-pages.ts';
import { formatNumber, shortId } from '../../../data/format.ts';
import type { GoTo } from '../network.tsx';
import { itemStatuses, type NetworkSearch } from '../search.ts';

export function BatchItems({ batch, search, go }: { batch: Api.Batch; search: NetworkSearch; go: GoTo }) {
  const status = search.items;
  const client = useQueryClient();
  const counted = JSON.stringify(batch.counts);
  // The counts of the batch are polled. When they change, items have changed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the counts that matter
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ['batch-items', batch.id] });
  }, [client, batch.id, counted]);
  const list = useCursorPages(['batch-items', batch.id, status ?? 'all'], (page) =>
    troupe.batch(batch.id).items({ ...page, ...(status ? { status } : {}) }),
  );
  return (
    <TableList
      list={list}
      title="Items"
      actions={
        <FilterSelect
          label="Status of the items"
          all="All"
          className="w-auto!"
          value={status}
          onChange={(items) => go({ items })}
          options={itemStatuses.map((one) => [
            one,
            `${one.charAt(0).toUpperCase() + one.slice(1)} (${formatNumber(batch.counts[one])})`,
          ])}
        />
      }
      empty={<Empty title="No items match" />}
      label="Items of the batch"
      keyOf={({ row, iteration }) => `${row} ${iteration}`}
      columns={[
        {
          name: 'Row',
          isRight: true,
          cellClass: 'whitespace-nowrap',
          cell: ({ row, iteration, attempt }) => (
            <>
              {row}
              {batch.iterations > 1 && <span className="text-faint">·{iteration}</span>}
              {attempt > 1 && <span className="block text-2xs text-faint">attempt {attempt}</span>}
            </>
          ),
        },
        {
          name: 'Status',
          cell: ({ status }) =>
            status === 'bad' ? (
              <StatusBadge status="failed" label="Bad row" />
            ) : (
              <StatusBadge status={status} />
            ),
        },
        {
          name: 'Input',
          cellClass: 'max-w-80',
          cell: ({ input }) => <ShortText text={textOf(input)} />,
        },
        {
          name: 'Answer',
          cellClass: 'max-w-96',
          cell: ({ error, response }) => (
            <ShortText text={error ? error.message : textOf(response)} isBad={error !== null} />
          ),
        },
        {
          name: 'Run',
          cellClass: 'whitespace-nowrap',
          cell: ({ runId }) =>
            runId ? (
              <Link to={runAddress(runId)} className="rounded-sm font-mono text-xs hover:underline">
                {shortId(runId)}
              </Link>
            ) : (
              '–'
            ),
        },
      ]}
    />
  );
}

function ShortText({ text, isBad = false }: { text: string; isBad?: boolean }) {
  return (
    <p className={cx('line-clamp-2 break-words', isBad && 'text-bad')} title={text}>
      {text || '–'}
    </p>
  );
}

function textOf(value: Api.Json): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  const message = (value as { message?: unknown }).message;
  return typeof message === 'string' && Object.keys(value).length === 1 ? message : JSON.stringify(value);
}
