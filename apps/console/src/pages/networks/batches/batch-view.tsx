import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Duration, StatusBadge, Time } from '@troupe/ui';
import { ArrowLeft, CircleStop, Download, RotateCcw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Confirm } from '../../../blocks/form.tsx';
import { Menu, MenuItem } from '../../../blocks/menu.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Failure, Loading } from '../../../blocks/states.tsx';
import { say, sayError } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import { formatCost, formatNumber, shortId } from '../../../data/format.ts';
import { saveFile } from '../../../data/save-file.ts';
import type { GoTo } from '../network.tsx';
import type { NetworkSearch } from '../search.ts';
import { BatchItems } from './batch-items.tsx';
import { Progress } from './progress.tsx';

/** One batch: how far it has come, its items, its results. */
export function BatchView({
  batchId,
  search,
  go,
  onBack,
}: {
  batchId: string;
  search: NetworkSearch;
  go: GoTo;
  onBack: () => void;
}) {
  const client = useQueryClient();
  const [removing, setRemoving] = useState(false);
  const query = useQuery({
    queryKey: ['batches', 'one', batchId],
    queryFn: () => troupe.batch(batchId).get(),
    refetchInterval: ({ state }) => (state.data && isAtWork(state.data) ? 700 : 10_000),
  });
  const batch = query.data;
  if (!batch)
    return query.error ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Loading />;
  const act = (work: () => Promise<unknown>, done: string) => {
    work()
      .then(() => say(done))
      .catch(sayError)
      .finally(() => void client.invalidateQueries({ queryKey: ['batches'] }));
  };
  const download = (format: 'csv' | 'jsonl') => {
    const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson';
    troupe
      .batch(batchId)
      .results(format)
      .then((text) => saveFile(`${batch.name ?? batch.id}.${format}`, text, type))
      .catch(sayError);
  };
  const { counts } = batch;
  const canResume = counts.canceled > 0 || counts.failed > 0;
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <Button kind="quiet" size="small" icon={ArrowLeft} onClick={onBack}>
          All batches
        </Button>
        <h2 className="min-w-0 flex-1 truncate font-semibold" title={batch.name ?? batch.id}>
          {batch.name ?? `Batch ${shortId(batch.id)}`}
        </h2>
        <Menu trigger={<Button icon={Download}>Results</Button>}>
          <MenuItem onSelect={() => download('csv')}>As CSV</MenuItem>
          <MenuItem onSelect={() => download('jsonl')}>As JSONL</MenuItem>
        </Menu>
        {isAtWork(batch) && batch.status === 'running' && (
          <Button
            icon={CircleStop}
            onClick={() => act(() => troupe.batch(batchId).cancel(), 'Canceled: nothing more begins.')}
          >
            Cancel
          </Button>
        )}
        {!isAtWork(batch) && canResume && (
          <Button
            icon={RotateCcw}
            onClick={() =>
              act(() => troupe.batch(batchId).resume({ failed: true }), 'Goes on with what did not go well.')
            }
          >
            Resume
          </Button>
        )}
        {!isAtWork(batch) && (
          <Button kind="danger" icon={Trash2} onClick={() => setRemoving(true)}>
            Delete
          </Button>
        )}
      </div>
      <Card>
        <div className="flex flex-col gap-3">
          <div className="flex items-center gap-3">
            <StatusBadge status={batch.status} />
            <div className="flex-1">
              <Progress counts={counts} />
            </div>
          </div>
          <Facts batch={batch} />
        </div>
      </Card>
      <BatchItems batch={batch} search={search} go={go} />
      <Confirm
        open={removing}
        onClose={() => setRemoving(false)}
        title="Delete the batch?"
        label="Delete"
        act={async () => {
          await troupe.batch(batchId).delete();
          onBack();
          await client.invalidateQueries({ queryKey: ['batches'] });
          say('Deleted the batch. Its runs stay.');
        }}
      >
        Its items and results go. Its runs stay.
      </Confirm>
    </div>
  );
}

function Facts({ batch }: { batch: Api.Batch }) {
  const { counts, usage, cost, network, iterations, concurrency, startedAt, completedAt } = batch;
  const facts: [string, React.ReactNode][] = [
    ['Rows', formatNumber(counts.rows)],
    ['Times each', formatNumber(iterations)],
    ['At a time', formatNumber(concurrency)],
    ['Version', network.version],
    ['Tokens', formatNumber(usage.inputTokens + usage.outputTokens)],
    ['Cost', formatCost(cost)],
    ['Began', <Time key="began" value={startedAt} />],
    ['Took', startedAt ? <Duration key="took" from={startedAt} to={completedAt ?? batch.canceledAt} /> : '–'],
  ];
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-2 text-sm sm:grid-cols-4">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt className="text-xs text-muted">{label}</dt>
          <dd className="tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function isAtWork({ status, counts }: Api.Batch): boolean {
  return status === 'running' || counts.running > 0;
}
