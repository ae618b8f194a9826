import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { FileUp, Plus, Webhook } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClass } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { TableList } from '../../blocks/list.tsx';
import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';
import { NameCell } from '../../blocks/table.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { triggerAddress } from '../../data/addresses.ts';
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
      <Plus size={14} aria-hidden="true" /> Create trigger
    </Link>
  );
  return (
    <Page
      title="Triggers"
      fill
      about="Rules that act when something changes: tell a receiver, start a run, say something."
      actions={
        <>
          <Button icon={FileUp} onClick={() => setApplies(true)}>
            Apply triggers
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
    <TableList
      list={list}
      empty={
        <Empty icon={Webhook} title="No triggers yet" action={newTrigger}>
          A trigger watches a collection, such as runs or messages of sessions. When a change matches its
          condition, it calls a webhook, starts a run of an agent, or posts a message.
        </Empty>
      }
      label="Triggers"
      keyOf={(trigger) => trigger.id}
      columns={[
        {
          name: 'Name',
          cellClass: 'max-w-40 @5xl:max-w-56',
          cell: ({ name }) => <NameCell to={triggerAddress(name)} name={name} />,
        },
        {
          name: 'About',
          cellClass: 'max-w-52 @5xl:max-w-72',
          cell: (trigger) => (
            <>
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
            </>
          ),
        },
        {
          name: 'Does',
          cellClass: 'max-w-40 @5xl:max-w-56 truncate',
          cell: (trigger) => (
            <>
              <Tag>{trigger.action.type}</Tag>{' '}
              <span className={cx('text-xs text-muted', trigger.action.type === 'webhook' && 'font-mono')}>
                {trigger.action.type === 'webhook'
                  ? trigger.action.url
                  : trigger.action.type === 'run'
                    ? agentOf(trigger.action.agent)
                    : ''}
              </span>
            </>
          ),
        },
        {
          name: 'State',
          cell: (trigger) =>
            trigger.disabledReason ? (
              <Tag tone="bad" title={trigger.disabledReason}>
                turned off
              </Tag>
            ) : !trigger.enabled ? (
              <Tag>disabled</Tag>
            ) : trigger.conditionError ? (
              <Tag tone="warn" title={trigger.conditionError.message}>
                condition fails
              </Tag>
            ) : trigger.findings.length > 0 ? (
              <Tag tone="warn" title={trigger.findings.map(({ message }) => message).join('; ')}>
                never matches
              </Tag>
            ) : trigger.deadInRow > 0 ? (
              <Tag tone="warn">{trigger.deadInRow} given up</Tag>
            ) : (
              <Tag tone="good">enabled</Tag>
            ),
        },
        {
          name: 'To deliver',
          isRight: true,
          className: '@2xl:@max-5xl:hidden',
          cell: (trigger) => trigger.open,
        },
        { name: 'Changed', className: '@2xl:@max-5xl:hidden', time: (trigger) => trigger.updatedAt },
        { name: 'Enabled', cell: (trigger) => <Switch trigger={trigger} /> },
      ]}
    />
  );
}
