import { useNavigate, useSearch } from '@tanstack/react-router';
import { StatusBadge, Time } from '@troupe/ui';
import { Waypoints } from 'lucide-react';
import { AddButton } from '../../blocks/button.tsx';
import { FilterSelect } from '../../blocks/field.tsx';
import { TableList } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';
import { NameCell } from '../../blocks/table.tsx';
import { networkAddress } from '../../data/addresses.ts';
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
  const begin = <AddButton onClick={() => go({ ...search, create: 'yes' })}>Create network</AddButton>;
  return (
    <Page
      title="Networks"
      about="Agents, tools and the routes allowed between them. What is not drawn does not happen."
      actions={
        <>
          <FilterSelect
            label="Status"
            all="All"
            className="w-auto!"
            value={status}
            onChange={(next) => go(next ? { status: next } : {})}
            options={statuses.map((one) => [one, one.charAt(0).toUpperCase() + one.slice(1)])}
          />
          {begin}
        </>
      }
    >
      <TableList
        list={list}
        empty={
          <Empty icon={Waypoints} title={status ? 'No networks match' : 'No networks yet'} action={begin}>
            A network is a set of agents, tools and the routes allowed between them. Draw it, publish it, and
            run it over one input or a batch.
          </Empty>
        }
        label="Networks"
        keyOf={({ id }) => id}
        columns={[
          {
            name: 'Name',
            cellClass: 'max-w-52 sm:max-w-80',
            cell: ({ id, name, description }) => (
              <NameCell to={networkAddress(id)} name={name} about={description} />
            ),
          },
          { name: 'Status', cell: (network) => <StatusBadge status={network.status} /> },
          { name: 'Version', isRight: true, cell: ({ currentVersion }) => currentVersion ?? '–' },
          { name: 'Agents', isRight: true, cell: ({ agentCount }) => formatNumber(agentCount) },
          { name: 'Tools', isRight: true, cell: ({ toolCount }) => formatNumber(toolCount) },
          {
            name: 'Published',
            cellClass: 'whitespace-nowrap text-muted',
            cell: ({ publishedAt }) => <Time value={publishedAt} empty="never" />,
          },
          { name: 'Changed', time: ({ updatedAt }) => updatedAt },
        ]}
      />
      {create === 'yes' && (
        <CreateNetwork
          onClose={() => go(status ? { status } : {})}
          onMade={({ id }) => void navigate({ to: '/networks/$network', params: { network: id } })}
        />
      )}
    </Page>
  );
}
