import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { FileUp, Plus, Webhook } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClass } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { When } from '../../blocks/when.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { agentsQuery } from '../../data/queries.ts';
import { given } from '../../data/search-values.ts';
import { ApplyTriggers } from './apply-triggers.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { Switch } from './switch.tsx';

const route = getRouteApi('/triggers');

export function TriggersPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [applies, setApplies] = useState(false);
  const newTrigger = (
    <Link to="/triggers/new" className={buttonClass('primary')}>
      <Plus size={14} aria-hidden="true" /> New trigger
    </Link>
  );
  return (
    <Page
      title="Triggers"
      fill
      about="Rules that act when something changes: tell a receiver, start a run, say something."
      actions={
        <>
          <Button icon={<FileUp size={14} aria-hidden="true" />} onClick={() => setApplies(true)}>
            Apply a file
          </Button>
          {newTrigger}
        </>
      }
    >
      <Tabs
        label="Triggers"
        value={search.tab ?? 'rules'}
        onChange={(tab) => void navigate({ search: tab === 'deliveries' ? { tab } : {}, replace: true })}
        tabs={[
          { value: 'rules', label: 'Rules' },
          { value: 'deliveries', label: 'Deliveries' },
        ]}
      >
        <TabPanel value={search.tab ?? 'rules'}>
          {search.tab === 'deliveries' ? (
            <DeliveryList
              filter={search}
              onFilter={(part) =>
                void navigate({ search: (now) => given({ ...now, ...part }), replace: true })
              }
            />
          ) : (
            <Rules newTrigger={newTrigger} />
          )}
        </TabPanel>
      </Tabs>
      {applies && <ApplyTriggers onClose={() => setApplies(false)} />}
    </Page>
  );
}

function Rules({ newTrigger }: { newTrigger: React.ReactNode }) {
  useLive('triggers');
  const list = useCursorPages(['triggers', 'list'], (query) => troupe.triggers.list({ query }));
  const agents = useQuery(agentsQuery).data;
  // A rule has it by id or by name.
  const agentOf = (agent: string) => agents?.find(({ id }) => id === agent)?.name ?? agent;
  return (
    <Card flush>
      {list.items === undefined ? (
        list.error ? (
          <Failure error={list.error} retry={list.refetch} />
        ) : (
          <Loading />
        )
      ) : list.items.length === 0 ? (
        <Empty icon={<Webhook size={20} aria-hidden="true" />} title="No triggers yet" action={newTrigger}>
          A trigger is about a collection, such as runs or messages of sessions. Where a change fits its
          condition, it calls a webhook, starts a run of an agent, or posts a message.
        </Empty>
      ) : (
        <>
          <Table
            label="Triggers"
            head={
              <>
                <Th>Name</Th>
                <Th>About</Th>
                <Th>Does</Th>
                <Th>State</Th>
                <Th className="@2xl:@max-5xl:hidden text-right">To deliver</Th>
                <Th className="@2xl:@max-5xl:hidden">Changed</Th>
                <Th>Enabled</Th>
              </>
            }
          >
            {list.items.map((trigger) => (
              <Tr key={trigger.id}>
                <Td className="max-w-40 @5xl:max-w-56">
                  <Link
                    to="/triggers/$trigger"
                    params={{ trigger: trigger.name }}
                    title={trigger.name}
                    className="block truncate font-medium hover:underline"
                  >
                    {trigger.name}
                  </Link>
                </Td>
                <Td label="About" className="max-w-52 @5xl:max-w-72">
                  <p className="truncate font-mono text-xs" title={trigger.collection}>
                    {trigger.collection}
                  </p>
                  <p className="truncate text-xs text-muted" title={trigger.condition ?? ''}>
                    {trigger.events.join(', ')}
                    {trigger.condition && (
                      <>
                        {' where '}
                        <code className="font-mono">{trigger.condition}</code>
                      </>
                    )}
                  </p>
                </Td>
                <Td label="Does" className="max-w-40 @5xl:max-w-56 truncate">
                  <Tag>{trigger.action.type}</Tag>{' '}
                  <span
                    className={cx('text-xs text-muted', trigger.action.type === 'webhook' && 'font-mono')}
                  >
                    {trigger.action.type === 'webhook'
                      ? trigger.action.url
                      : trigger.action.type === 'run'
                        ? agentOf(trigger.action.agent)
                        : ''}
                  </span>
                </Td>
                <Td label="State">
                  {trigger.disabledReason ? (
                    <Tag tone="bad" title={trigger.disabledReason}>
                      turned off
                    </Tag>
                  ) : !trigger.enabled ? (
                    <Tag>disabled</Tag>
                  ) : trigger.conditionError ? (
                    <Tag tone="warn" title={trigger.conditionError.message}>
                      condition fails
                    </Tag>
                  ) : trigger.deadInRow > 0 ? (
                    <Tag tone="warn">{trigger.deadInRow} given up</Tag>
                  ) : (
                    <Tag tone="good">enabled</Tag>
                  )}
                </Td>
                <Td label="To deliver" className="@2xl:@max-5xl:hidden text-right tabular-nums">
                  {trigger.open}
                </Td>
                <Td label="Changed" className="@2xl:@max-5xl:hidden text-muted">
                  <When value={trigger.updatedAt} />
                </Td>
                <Td label="Enabled">
                  <Switch trigger={trigger} />
                </Td>
              </Tr>
            ))}
          </Table>
          <MoreButton list={list} />
        </>
      )}
    </Card>
  );
}
