import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { StatusBadge, Time } from '@troupe/ui';
import { Activity, CircleCheck } from 'lucide-react';
import { Card } from '../../blocks/page.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { agentsQuery } from '../../data/queries.ts';

const SHOWN = 6;

export function OpenRuns() {
  return (
    <RunList
      title="Under way"
      status="running,queued,waiting_tool,waiting_reply"
      empty={
        <Empty icon={Activity} title="Nothing is under way" className="py-8">
          Runs appear here while agents work.
        </Empty>
      }
    />
  );
}

export function FailedRuns() {
  return (
    <RunList
      title="Failed lately"
      status="failed"
      empty={
        <Empty icon={CircleCheck} title="Nothing has failed" className="py-8">
          When a run fails, it says here why, and its page offers to take it up again.
        </Empty>
      }
    />
  );
}

function RunList({ title, status, empty }: { title: string; status: string; empty: React.ReactNode }) {
  const runs = useQuery({
    queryKey: ['runs', 'home', status],
    queryFn: () => troupe.runs.list({ query: { status, limit: SHOWN } }),
  });
  const agents = useQuery(agentsQuery);
  const nameOf = (run: Api.Run) => agents.data?.find(({ id }) => id === run.agentId)?.name;
  return (
    <Card
      flush
      title={title}
      actions={
        <Link
          to="/runs"
          search={{ status } as never}
          className="rounded-sm text-xs text-accent-strong hover:underline"
        >
          All <span className="sr-only">runs: {title}</span>
        </Link>
      }
    >
      <Loaded query={runs}>
        {({ data }) =>
          data.length === 0 ? (
            empty
          ) : (
            <ul>
              {data.map((run) => (
                <li key={run.id} className="border-b border-line last:border-0">
                  <Link
                    to={`/runs/${run.id}` as string}
                    className="flex items-center gap-3 px-4 py-2 hover:bg-hover"
                  >
                    <span className="min-w-0 flex-1">
                      <span className="block truncate text-sm">
                        {run.error?.message ?? run.asked ?? nameOf(run) ?? 'A run'}
                      </span>
                      <span className="block truncate text-xs text-faint">
                        {nameOf(run) ?? run.triggerType} · <Time value={run.createdAt} />
                      </span>
                    </span>
                    <StatusBadge status={run.status} />
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}
