import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import { Layers, Plus } from 'lucide-react';
import { Button } from '../../../blocks/button.tsx';
import { MoreButton } from '../../../blocks/more-button.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../../blocks/table.tsx';
import { troupe } from '../../../data/client.ts';
import { useCursorPages } from '../../../data/cursor-pages.ts';
import { formatCost, formatNumber } from '../../../data/format.ts';
import { useLive } from '../../../data/live.ts';
import type { GoTo } from '../network.tsx';
import type { NetworkSearch } from '../search.ts';
import { BatchView } from './batch-view.tsx';
import { NewBatch } from './new-batch.tsx';
import { Progress } from './progress.tsx';

interface Props {
  network: Api.Network;
  search: NetworkSearch;
  go: GoTo;
}

export default function BatchesTab(props: Props) {
  const { network, search, go } = props;
  const back = () => go({ batch: undefined, items: undefined });
  if (search.batch === 'new')
    return <NewBatch network={network} onCancel={back} onMade={(batch) => go({ batch: batch.id })} />;
  if (search.batch) return <BatchView batchId={search.batch} search={search} go={go} onBack={back} />;
  return <BatchList {...props} />;
}

function BatchList({ network, go }: Props) {
  useLive('batches');
  const list = useCursorPages(['batches', network.id], (page) =>
    troupe.batches.list({ params: { network: network.id }, query: page }),
  );
  if (!list.items) return list.error ? <Failure error={list.error} retry={list.refetch} /> : <Loading />;
  const begin = (
    <Button
      kind="primary"
      icon={<Plus size={15} />}
      disabled={network.status !== 'published'}
      onClick={() => go({ batch: 'new' }, { replace: false })}
    >
      New batch
    </Button>
  );
  if (list.items.length === 0)
    return (
      <Empty icon={<Layers size={20} aria-hidden="true" />} title="No batches yet" action={begin}>
        A batch runs the network over many inputs, from a CSV or JSONL file, as often as you like, and keeps
        the results together.
        {network.status !== 'published' && ' Publish the network first.'}
      </Empty>
    );
  return (
    <Card flush title="Batches" actions={begin}>
      <Table
        label="Batches"
        head={
          <>
            <Th>Batch</Th>
            <Th>Status</Th>
            <Th className="min-w-40">Progress</Th>
            <Th className="text-right">Version</Th>
            <Th className="text-right">Tokens</Th>
            <Th className="text-right">Cost</Th>
            <Th>Made</Th>
          </>
        }
      >
        {list.items.map((batch) => (
          <Tr key={batch.id}>
            <Td className="max-w-64">
              <button
                type="button"
                className="max-w-full truncate rounded-sm text-left font-medium hover:underline"
                title={batch.name ?? batch.id}
                onClick={() => go({ batch: batch.id }, { replace: false })}
              >
                {batch.name ?? `${formatNumber(batch.counts.rows)} rows`}
              </button>
            </Td>
            <Td label="Status">
              <StatusBadge status={batch.status} />
            </Td>
            <Td label="Progress">
              <Progress counts={batch.counts} />
            </Td>
            <Td label="Version" className="text-right tabular-nums">
              {batch.network.version}
            </Td>
            <Td label="Tokens" className="text-right tabular-nums">
              {formatNumber(batch.usage.inputTokens + batch.usage.outputTokens)}
            </Td>
            <Td label="Cost" className="text-right tabular-nums">
              {formatCost(batch.cost)}
            </Td>
            <Td label="Made" className="whitespace-nowrap text-muted">
              <Time value={batch.createdAt} />
            </Td>
          </Tr>
        ))}
      </Table>
      <MoreButton list={list} />
    </Card>
  );
}
