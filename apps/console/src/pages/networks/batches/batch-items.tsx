import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge } from '@troupe/ui';
import { useEffect } from 'react';
import { Select } from '../../../blocks/field.tsx';
import { MoreButton } from '../../../blocks/more-button.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../../blocks/table.tsx';
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
  // Whoever shows the batch looks at its counts every moment: where they are others, items are others.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the counts that matter
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ['batch-items', batch.id] });
  }, [client, batch.id, counted]);
  const list = useCursorPages(['batch-items', batch.id, status ?? 'all'], (page) =>
    troupe.batch(batch.id).items({ ...page, ...(status ? { status } : {}) }),
  );
  const count = (one: (typeof itemStatuses)[number]) => batch.counts[one];
  return (
    <Card
      flush
      title="Items"
      actions={
        <Select
          aria-label="Status of the items"
          className="w-auto!"
          value={status ?? ''}
          onChange={({ target }) => go({ items: (target.value || undefined) as typeof status })}
        >
          <option value="">All</option>
          {itemStatuses.map((one) => (
            <option key={one} value={one}>
              {one.charAt(0).toUpperCase() + one.slice(1)} ({formatNumber(count(one))})
            </option>
          ))}
        </Select>
      }
    >
      {!list.items ? (
        list.error ? (
          <Failure error={list.error} retry={list.refetch} />
        ) : (
          <Loading />
        )
      ) : list.items.length === 0 ? (
        <Empty title="No such items" />
      ) : (
        <>
          <Table
            label="Items of the batch"
            head={
              <>
                <Th className="text-right">Row</Th>
                <Th>Status</Th>
                <Th>Input</Th>
                <Th>Answer</Th>
                <Th>Run</Th>
              </>
            }
          >
            {list.items.map((item) => (
              <Item key={`${item.row} ${item.iteration}`} item={item} isMany={batch.iterations > 1} />
            ))}
          </Table>
          <MoreButton list={list} />
        </>
      )}
    </Card>
  );
}

function Item({ item, isMany }: { item: Api.BatchItem; isMany: boolean }) {
  const { row, iteration, attempt, status, input, response, error, runId } = item;
  return (
    <Tr>
      <Td className="text-right whitespace-nowrap tabular-nums">
        {row}
        {isMany && <span className="text-faint">·{iteration}</span>}
        {attempt > 1 && <span className="block text-2xs text-faint">attempt {attempt}</span>}
      </Td>
      <Td label="Status">
        <StatusBadge
          status={status === 'bad' ? 'failed' : status}
          {...(status === 'bad' ? { label: 'Bad row' } : {})}
        />
      </Td>
      <Td label="Input" className="max-w-80">
        <p className="line-clamp-2 break-words" title={textOf(input)}>
          {textOf(input) || '–'}
        </p>
      </Td>
      <Td label="Answer" className="max-w-96">
        {error ? (
          <p className="line-clamp-2 break-words text-bad" title={error.message}>
            {error.message}
          </p>
        ) : (
          <p className="line-clamp-2 break-words" title={textOf(response)}>
            {textOf(response) || '–'}
          </p>
        )}
      </Td>
      <Td label="Run" className="whitespace-nowrap">
        {runId ? (
          <Link to={runAddress(runId)} className="rounded-sm font-mono text-xs hover:underline">
            {shortId(runId)}
          </Link>
        ) : (
          '–'
        )}
      </Td>
    </Tr>
  );
}

function textOf(value: Api.Json): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  const message = (value as { message?: unknown }).message;
  return typeof message === 'string' && Object.keys(value).length === 1 ? message : JSON.stringify(value);
}
