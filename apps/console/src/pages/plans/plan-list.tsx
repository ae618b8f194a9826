import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { CalendarClock, Ellipsis, Pencil, Play, Square, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { AddButton, IconButton } from '../../blocks/button.tsx';
import { FilterSelect } from '../../blocks/field.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { TableList, Toolbar } from '../../blocks/list.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { Empty } from '../../blocks/states.tsx';
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
    <AddButton disabled={!canPlan} onClick={() => setEdited('new')}>
      Create plan
    </AddButton>
  );
  return (
    <div className="flex flex-col gap-4">
      <Toolbar actions={add}>
        {onStatus && (
          <FilterSelect
            label="Status"
            all="All"
            value={status}
            onChange={onStatus}
            options={[
              ['pending', 'Pending'],
              ['completed', 'Completed'],
              ['canceled', 'Canceled'],
            ]}
          />
        )}
      </Toolbar>
      <TableList
        list={list}
        empty={
          <Empty
            icon={CalendarClock}
            title={status ? `No ${status} plans` : 'No plans yet'}
            action={!status && add}
          >
            {!status &&
              'A plan starts a run of an agent: after a delay, at a time, or repeatedly. Agents create plans too.'}
          </Empty>
        }
        label="Plans"
        keyOf={(plan) => plan.id}
        columns={[
          {
            name: 'Plan',
            cellClass: 'max-w-48 min-w-44 @5xl:max-w-72',
            cell: (plan) => (
              <>
                <p className="truncate font-medium" title={plan.name}>
                  {plan.name}
                </p>
                <p className="truncate text-xs text-muted" title={plan.instruction}>
                  {plan.instruction}
                </p>
              </>
            ),
          },
          agentId === null && {
            name: 'Agent',
            cellClass: 'max-w-40',
            cell: (plan) => (
              <Link
                to="/agents/$agentId"
                params={{ agentId: plan.agentId }}
                className="block truncate hover:underline"
              >
                {nameOf(plan.agentId)}
              </Link>
            ),
          },
          { name: 'When', cellClass: 'whitespace-nowrap', cell: (plan) => <Rule plan={plan} /> },
          { name: 'Next', cell: (plan) => <NextTimes plan={plan} /> },
          {
            name: 'Last run',
            className: '@2xl:@max-5xl:hidden',
            cellClass: 'text-muted',
            cell: (plan) =>
              plan.lastRunId ? (
                <Link to={runAddress(plan.lastRunId)} className="hover:underline">
                  <When value={plan.lastRunAt} />
                </Link>
              ) : (
                <When value={plan.lastRunAt} />
              ),
          },
          { name: 'Status', cell: (plan) => <Tag tone={tones[plan.status]}>{plan.status}</Tag> },
          {
            name: 'Actions',
            isAction: true,
            cell: (plan) => (
              <Menu trigger={<IconButton label={`Actions of ${plan.name}`} icon={Ellipsis} />}>
                <MenuItem icon={Pencil} onSelect={() => setEdited(plan)}>
                  Edit
                </MenuItem>
                {plan.status === 'pending' && (
                  <MenuItem icon={Square} onSelect={() => void cancel(plan)}>
                    {plan.cron ? 'Pause' : 'Cancel'}
                  </MenuItem>
                )}
                {plan.status === 'canceled' && plan.cron && (
                  <MenuItem icon={Play} onSelect={() => void resume(plan)}>
                    Resume
                  </MenuItem>
                )}
                <MenuItem danger icon={Trash2} onSelect={() => setGone(plan)}>
                  Delete…
                </MenuItem>
              </Menu>
            ),
          },
        ]}
      />
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
        title={`Delete plan “${gone?.name}”?`}
        label="Delete plan"
        changes="plans"
        act={() => troupe.plans.remove({ params: { agentId: gone!.agentId, planId: gone!.id } })}
      >
        It will not run again. A run in progress continues.
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
