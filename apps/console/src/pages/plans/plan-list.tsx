import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { CalendarClock, Ellipsis, Pencil, Play, Plus, Square, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Select } from '../../blocks/field.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { MoreButton } from '../../blocks/more-button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { exactFormat, When } from '../../blocks/when.tsx';
import { runAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { useAgentName } from '../../data/names.ts';
import { agentsQuery } from '../../data/queries.ts';
import { useSettings } from '../../data/settings.ts';
import { EditPlan } from './edit-plan.tsx';

const tones = { pending: 'info', completed: 'good', canceled: 'quiet' } as const;

/** Plans of one agent, or of all (null). */
export function PlanList({
  agentId,
  status,
  onStatus,
}: {
  agentId: string | null;
  status?: Api.PlanStatus | undefined;
  onStatus?: (status: Api.PlanStatus | undefined) => void;
}) {
  const [edited, setEdited] = useState<Api.Plan | 'new' | null>(null);
  const [gone, setGone] = useState<Api.Plan | null>(null);
  const client = useQueryClient();
  const nameOf = useAgentName();
  const { data: agents } = useQuery(agentsQuery);
  useLive('plans');
  const list = useCursorPages(['plans', agentId, status], (page) => {
    const query = { ...page, ...(status ? { status } : {}) };
    return agentId === null
      ? troupe.plans.listAll({ query })
      : troupe.plans.list({ params: { agentId }, query });
  });
  const changed = () => client.invalidateQueries({ queryKey: ['plans'] });
  const cancel = async (plan: Api.Plan) => {
    try {
      await troupe.plans.cancel({ params: { agentId: plan.agentId, planId: plan.id } });
      say(`“${plan.name}” will not run.`);
      await changed();
    } catch (error) {
      sayError(error);
    }
  };
  const resume = async (plan: Api.Plan) => {
    try {
      await troupe.plans.update({
        params: { agentId: plan.agentId, planId: plan.id },
        body: { cron: plan.cron!, timeZone: plan.timeZone! },
      });
      say(`“${plan.name}” runs again.`);
      await changed();
    } catch (error) {
      sayError(error);
    }
  };
  const canPlan = agentId !== null || (agents?.length ?? 0) > 0;
  const add = (
    <Button
      kind="primary"
      disabled={!canPlan}
      icon={<Plus size={14} aria-hidden="true" />}
      onClick={() => setEdited('new')}
    >
      New plan
    </Button>
  );
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        {onStatus && (
          <Select
            aria-label="Status"
            className="max-w-40"
            value={status ?? ''}
            onChange={({ target }) => onStatus((target.value || undefined) as Api.PlanStatus | undefined)}
          >
            <option value="">All</option>
            <option value="pending">Pending</option>
            <option value="completed">Completed</option>
            <option value="canceled">Canceled</option>
          </Select>
        )}
        <span className="flex-1" />
        {add}
      </div>
      <Card flush>
        {list.items === undefined ? (
          list.error ? (
            <Failure error={list.error} retry={list.refetch} />
          ) : (
            <Loading />
          )
        ) : list.items.length === 0 ? (
          <Empty
            icon={<CalendarClock size={20} aria-hidden="true" />}
            title={status ? `No plan is ${status}` : 'No plans yet'}
            action={!status && add}
          >
            {!status &&
              'A plan starts a run of an agent with an instruction: in a while, at a time, or again and again. Agents in spaces plan for themselves, too.'}
          </Empty>
        ) : (
          <>
            <Table
              label="Plans"
              head={
                <>
                  <Th>Plan</Th>
                  {agentId === null && <Th>Agent</Th>}
                  <Th>When</Th>
                  <Th>Next</Th>
                  <Th className="@2xl:@max-5xl:hidden">Last run</Th>
                  <Th>Status</Th>
                  <Th>
                    <span className="sr-only">Actions</span>
                  </Th>
                </>
              }
            >
              {list.items.map((plan) => (
                <Tr key={plan.id}>
                  <Td className="max-w-48 min-w-44 @5xl:max-w-72">
                    <p className="truncate font-medium" title={plan.name}>
                      {plan.name}
                    </p>
                    <p className="truncate text-xs text-muted" title={plan.instruction}>
                      {plan.instruction}
                    </p>
                  </Td>
                  {agentId === null && (
                    <Td label="Agent" className="max-w-40">
                      <Link
                        to="/agents/$agentId"
                        params={{ agentId: plan.agentId }}
                        className="block truncate hover:underline"
                      >
                        {nameOf(plan.agentId)}
                      </Link>
                    </Td>
                  )}
                  <Td label="When" className="whitespace-nowrap">
                    <Rule plan={plan} />
                  </Td>
                  <Td label="Next">
                    <NextTimes plan={plan} />
                  </Td>
                  <Td label="Last run" className="@2xl:@max-5xl:hidden text-muted">
                    {plan.lastRunId ? (
                      <Link to={runAddress(plan.lastRunId)} className="hover:underline">
                        <When value={plan.lastRunAt} />
                      </Link>
                    ) : (
                      <When value={plan.lastRunAt} />
                    )}
                  </Td>
                  <Td label="Status">
                    <Tag tone={tones[plan.status]}>{plan.status}</Tag>
                  </Td>
                  <Td className="w-px">
                    <Menu
                      trigger={
                        <Button
                          kind="quiet"
                          size="small-icon"
                          aria-label={`Actions of ${plan.name}`}
                          icon={<Ellipsis size={16} />}
                        />
                      }
                    >
                      <MenuItem icon={<Pencil size={14} />} onSelect={() => setEdited(plan)}>
                        Edit
                      </MenuItem>
                      {plan.status === 'pending' && (
                        <MenuItem icon={<Square size={14} />} onSelect={() => void cancel(plan)}>
                          {plan.cron ? 'Pause' : 'Cancel'}
                        </MenuItem>
                      )}
                      {plan.status === 'canceled' && plan.cron && (
                        <MenuItem icon={<Play size={14} />} onSelect={() => void resume(plan)}>
                          Resume
                        </MenuItem>
                      )}
                      <MenuItem danger icon={<Trash2 size={14} />} onSelect={() => setGone(plan)}>
                        Delete…
                      </MenuItem>
                    </Menu>
                  </Td>
                </Tr>
              ))}
            </Table>
            <MoreButton list={list} />
          </>
        )}
      </Card>
      {edited && (
        <EditPlan
          agentId={edited === 'new' ? agentId : edited.agentId}
          plan={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
        />
      )}
      <Confirm
        open={gone !== null}
        onClose={() => setGone(null)}
        title={`Delete “${gone?.name}”?`}
        label="Delete"
        act={async () => {
          await troupe.plans.remove({ params: { agentId: gone!.agentId, planId: gone!.id } });
          await changed();
        }}
      >
        It will not run. A run that has begun goes on.
      </Confirm>
    </div>
  );
}

function Rule({ plan }: { plan: Api.Plan }) {
  if (plan.cron)
    return (
      <>
        <code className="font-mono text-xs">{plan.cron}</code>
        <p className="text-2xs text-faint">{plan.timeZone}</p>
      </>
    );
  if (plan.runAfter) return <>after {plan.runAfter}</>;
  return (
    <>
      once, <When value={plan.scheduledAt} exact />
    </>
  );
}

/** As the API has computed them, in the zone that the reader chose. */
function NextTimes({ plan }: { plan: Api.Plan }) {
  const { timeZone } = useSettings();
  const format = exactFormat(timeZone);
  if (!plan.nextRunAt) return <span className="text-faint">–</span>;
  const all = plan.nextRuns.map((time) => format.format(new Date(time)));
  return (
    <div title={all.join('\n')} className="whitespace-nowrap">
      <When value={plan.nextRunAt} exact />
      <p className="text-2xs text-faint">
        <When value={plan.nextRunAt} />
        {all.length > 1 && `, then ${all[1]}`}
      </p>
    </div>
  );
}
