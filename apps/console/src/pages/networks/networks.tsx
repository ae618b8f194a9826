import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import { Plus, Waypoints } from 'lucide-react';
import { Button } from '../../blocks/button.tsx';
import { Select } from '../../blocks/field.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { formatNumber } from '../../data/format.ts';
import { useLive } from '../../data/live.ts';
import { CreateNetwork } from './create-network.tsx';
import { type NetworksSearch, statuses } from './search.ts';

export function NetworksPage() {
  const search = useSearch({ from: '/networks' });
  const navigate = useNavigate({ from: '/networks' });
  const { status, create } = search;
  useLive('networks');
  const list = useCursorPages(['networks', 'list', status ?? 'all'], (page) =>
    troupe.networks.list({ query: { ...page, ...(status ? { status } : {}) } }),
  );
  const go = (next: NetworksSearch) => void navigate({ search: next, replace: true });
  const begin = (
    <Button kind="primary" icon={<Plus size={15} />} onClick={() => go({ ...search, create: 'yes' })}>
      New network
    </Button>
  );
  return (
    <Page
      title="Networks"
      about="Agents, tools and the routes allowed between them. What is not drawn does not happen."
      actions={
        <>
          <Select
            aria-label="Status"
            className="w-auto!"
            value={status ?? ''}
            onChange={({ target }) =>
              go(target.value === '' ? {} : { status: target.value as NonNullable<typeof status> })
            }
          >
            <option value="">All</option>
            {statuses.map((one) => (
              <option key={one} value={one}>
                {one.charAt(0).toUpperCase() + one.slice(1)}
              </option>
            ))}
          </Select>
          {begin}
        </>
      }
    >
      {list.items ? (
        list.items.length === 0 ? (
          <Empty
            icon={<Waypoints size={20} aria-hidden="true" />}
            title={status ? `No network is ${status === 'draft' ? 'a draft' : status}` : 'No networks yet'}
            action={begin}
          >
            A network is agents, tools and the routes allowed between them. You draw it, publish it, and run
            it over one input or a hundred thousand.
          </Empty>
        ) : (
          <Card flush>
            <Table
              label="Networks"
              head={
                <>
                  <Th>Name</Th>
                  <Th>Status</Th>
                  <Th className="text-right">Version</Th>
                  <Th className="text-right">Agents</Th>
                  <Th className="text-right">Tools</Th>
                  <Th>Published</Th>
                  <Th>Changed</Th>
                </>
              }
            >
              {list.items.map((network) => (
                <Row key={network.id} network={network} />
              ))}
            </Table>
            <MoreButton list={list} />
          </Card>
        )
      ) : list.error ? (
        <Failure error={list.error} retry={list.refetch} />
      ) : (
        <Loading />
      )}
      <CreateNetwork
        open={create === 'yes'}
        onClose={() => go(status ? { status } : {})}
        onMade={({ id }) => void navigate({ to: '/networks/$network', params: { network: id } })}
      />
    </Page>
  );
}

function Row({ network }: { network: Api.Network }) {
  const { id, name, description, status, currentVersion, agentCount, toolCount } = network;
  return (
    <Tr>
      <Td className="max-w-52 sm:max-w-80">
        <Link
          to="/networks/$network"
          params={{ network: id }}
          title={name}
          className="block truncate rounded-sm font-medium hover:underline"
        >
          {name}
        </Link>
        {description && (
          <p className="truncate text-xs text-muted" title={description}>
            {description}
          </p>
        )}
      </Td>
      <Td label="Status">
        <StatusBadge status={status} />
      </Td>
      <Td label="Version" className="text-right tabular-nums">
        {currentVersion ?? '–'}
      </Td>
      <Td label="Agents" className="text-right tabular-nums">
        {formatNumber(agentCount)}
      </Td>
      <Td label="Tools" className="text-right tabular-nums">
        {formatNumber(toolCount)}
      </Td>
      <Td label="Published" className="whitespace-nowrap text-muted">
        <Time value={network.publishedAt} empty="never" />
      </Td>
      <Td label="Changed" className="whitespace-nowrap text-muted">
        <Time value={network.updatedAt} />
      </Td>
    </Tr>
  );
}
