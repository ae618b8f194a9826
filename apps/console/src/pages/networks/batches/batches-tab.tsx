import type { Api } from '@troupe/sdk';
import { StatusBadge } from '@troupe/ui';
import { Layers } from 'lucide-react';
import { AddButton } from '../../../blocks/button.tsx';
import { TableList } from '../../../blocks/list.tsx';
import { Empty } from '../../../blocks/states.tsx';
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
  const begin = (
    <AddButton
      disabled={network.status !== 'published'}
      onClick={() => go({ batch: 'new' }, { replace: false })}
    >
      Create batch
    </AddButton>
  );
  return (
    <TableList
      list={list}
      title="Batches"
      actions={list.items?.length !== 0 && begin}
      empty={
        <Empty icon={Layers} title="No batches yet" action={begin}>
          A batch runs the network over the rows of a CSV or JSONL file and collects the results.
          {network.status !== 'published' && ' Publish the network first.'}
        </Empty>
      }
      label="Batches"
      keyOf={(batch) => batch.id}
      columns={[
        {
          name: 'Batch',
          cellClass: 'max-w-64',
          cell: (batch) => (
            <button
              type="button"
              className="max-w-full truncate rounded-sm text-left font-medium hover:underline"
              title={batch.name ?? batch.id}
              onClick={() => go({ batch: batch.id }, { replace: false })}
            >
              {batch.name ?? `${formatNumber(batch.counts.rows)} rows`}
            </button>
          ),
        },
        { name: 'Status', cell: (batch) => <StatusBadge status={batch.status} /> },
        { name: 'Progress', className: 'min-w-40', cell: (batch) => <Progress counts={batch.counts} /> },
        { name: 'Version', isRight: true, cell: (batch) => batch.network.version },
        {
          name: 'Tokens',
          isRight: true,
          cell: (batch) => formatNumber(batch.usage.inputTokens + batch.usage.outputTokens),
        },
        { name: 'Cost', isRight: true, cell: (batch) => formatCost(batch.cost) },
        { name: 'Made', time: (batch) => batch.createdAt },
      ]}
    />
  );
}
