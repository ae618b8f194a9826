import type { Api } from '@troupe/sdk';
import { Card } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';
import { Table } from '../../blocks/table.tsx';

/** Timers, plans and purges that were tried as often as they may be. */
export function FailedJobs({ jobs }: { jobs: NonNullable<Api.Queue['failedJobs']> }) {
  return (
    <Card title={jobs.total > 0 ? `Failed jobs (${jobs.total})` : 'Failed jobs'} flush>
      {jobs.newest.length === 0 ? (
        <Empty title="None" className="py-8!">
          Jobs are what is done later and is no run: timers, plans, purges. Those that fail are tried again;
          what is given up is here.
        </Empty>
      ) : (
        <Table
          label="Failed jobs"
          items={jobs.newest}
          keyOf={(job) => job.id}
          columns={[
            { name: 'Job', cellClass: 'font-mono text-xs whitespace-nowrap', cell: (job) => job.task },
            {
              name: 'Error',
              cellClass: 'max-w-96',
              cell: (job) => (
                <span className="line-clamp-3 text-xs break-words text-bad" title={job.error ?? undefined}>
                  {job.error ?? 'It did not say.'}
                </span>
              ),
            },
            { name: 'Tries', isRight: true, cell: (job) => job.attempts },
            { name: 'Last tried', isRight: true, time: (job) => job.lastTriedAt },
          ]}
        />
      )}
    </Card>
  );
}
