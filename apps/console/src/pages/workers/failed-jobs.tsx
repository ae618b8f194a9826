import type { Api } from '@troupe/sdk';
import { Time } from '@troupe/ui';
import { Card } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../blocks/table.tsx';

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
          head={
            <>
              <Th>Job</Th>
              <Th>Error</Th>
              <Th className="text-right">Tries</Th>
              <Th className="text-right">Last tried</Th>
            </>
          }
        >
          {jobs.newest.map((job) => (
            <Tr key={job.id}>
              <Td className="font-mono text-xs whitespace-nowrap">{job.task}</Td>
              <Td label="Error" className="max-w-96">
                <span className="line-clamp-3 text-xs break-words text-bad" title={job.error ?? undefined}>
                  {job.error ?? 'It did not say.'}
                </span>
              </Td>
              <Td label="Tries" className="text-right tabular-nums">
                {job.attempts}
              </Td>
              <Td label="Last tried" className="text-right whitespace-nowrap text-muted">
                <Time value={job.lastTriedAt} />
              </Td>
            </Tr>
          ))}
        </Table>
      )}
    </Card>
  );
}
