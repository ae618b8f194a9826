import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import { Activity } from 'lucide-react';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
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
  if (!list.items) return list.error ? <Failure error={list.error} retry={list.refetch} /> : <Loading />;
  if (list.items.length === 0)
    return (
      <Empty icon={<Activity size={20} aria-hidden="true" />} title="No runs yet">
        Run it in the playground, over a file as a batch, or with{' '}
        <code className="font-mono text-xs">POST /v1/networks/{network.id}/invoke</code>.
      </Empty>
    );
  return (
    <Card flush>
      <Table
        label="Runs of the network"
        head={
          <>
            <Th>Run</Th>
            <Th>Status</Th>
            <Th>Asked</Th>
            <Th className="text-right">Version</Th>
            <Th className="text-right">Steps</Th>
            <Th className="text-right">Took</Th>
            <Th className="text-right">Tokens</Th>
            <Th className="text-right">Cost</Th>
            <Th>Began</Th>
          </>
        }
      >
        {list.items.map((run) => (
          <Tr key={run.id}>
            <Td className="whitespace-nowrap">
              <Link to={runAddress(run.id)} className="rounded-sm font-mono text-xs hover:underline">
                {shortId(run.id)}
              </Link>
            </Td>
            <Td label="Status">
              <StatusBadge status={run.status} />
            </Td>
            <Td label="Asked" className="max-w-72">
              <p className="truncate" title={run.error?.message ?? run.asked ?? ''}>
                {run.asked ?? '–'}
              </p>
            </Td>
            <Td label="Version" className="text-right tabular-nums">
              {run.networkVersion ?? '–'}
            </Td>
            <Td label="Steps" className="text-right tabular-nums">
              {run.step}
            </Td>
            <Td label="Took" className="text-right whitespace-nowrap tabular-nums">
              {tookOf(run)}
            </Td>
            <Td label="Tokens" className="text-right tabular-nums">
              {formatNumber(run.usage.inputTokens + run.usage.outputTokens)}
            </Td>
            <Td label="Cost" className="text-right tabular-nums">
              {formatCost(run.cost)}
            </Td>
            <Td label="Began" className="whitespace-nowrap text-muted">
              <Time value={run.createdAt} />
            </Td>
          </Tr>
        ))}
      </Table>
      <MoreButton list={list} />
    </Card>
  );
}

function tookOf({ startedAt, completedAt, canceledAt }: Api.ListedRun): string {
  const end = completedAt ?? canceledAt;
  return startedAt && end ? formatDuration(Date.parse(end) - Date.parse(startedAt)) : '–';
}
