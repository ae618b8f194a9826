import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge } from '@troupe/ui';
import { Activity } from 'lucide-react';
import { TableList } from '../../blocks/list.tsx';
import { Empty } from '../../blocks/states.tsx';
import { runAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { formatCost, formatDuration, formatNumber, shortId } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';

/** Runs of the network: those of its batches and its tasks too. */
export default function RunsTab({ network }: { network: Api.Network }) {
  useLive('runs');
  const list = useCursorPages(['runs', 'of-network', network.id], (page) =>
    troupe.runs.list({ query: { ...page, networkId: network.id } }),
  );
  return (
    <TableList
      list={list}
      empty={
        <Empty icon={Activity} title="No runs yet">
          Run it in the playground, over a file as a batch, or with{' '}
          <code className="font-mono text-xs">POST /v1/networks/{network.id}/invoke</code>.
        </Empty>
      }
      label="Runs of the network"
      keyOf={(run) => run.id}
      columns={[
        {
          name: 'Run',
          cellClass: 'whitespace-nowrap',
          cell: (run) => (
            <Link to={runAddress(run.id)} className="rounded-sm font-mono text-xs hover:underline">
              {shortId(run.id)}
            </Link>
          ),
        },
        { name: 'Status', cell: (run) => <StatusBadge status={run.status} /> },
        {
          name: 'Asked',
          cellClass: 'max-w-72',
          cell: (run) => (
            <p className="truncate" title={run.error?.message ?? run.asked ?? ''}>
              {run.asked ?? '–'}
            </p>
          ),
        },
        { name: 'Version', isRight: true, cell: (run) => run.networkVersion ?? '–' },
        { name: 'Steps', isRight: true, cell: (run) => run.step },
        { name: 'Took', isRight: true, cellClass: 'whitespace-nowrap', cell: (run) => tookOf(run) },
        {
          name: 'Tokens',
          isRight: true,
          cell: (run) => formatNumber(run.usage.inputTokens + run.usage.outputTokens),
        },
        { name: 'Cost', isRight: true, cell: (run) => formatCost(run.cost) },
        { name: 'Began', time: (run) => run.createdAt },
      ]}
    />
  );
}

function tookOf({ startedAt, completedAt, canceledAt }: Api.ListedRun): string {
  const end = completedAt ?? canceledAt;
  return startedAt && end ? formatDuration(Date.parse(end) - Date.parse(startedAt)) : '–';
}
