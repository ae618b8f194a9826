import { useQuery } from '@tanstack/react-query';
import { StatusBadge, Time } from '@troupe/ui';
import { cx } from '../../../blocks/cx.ts';
import { troupe } from '../../../data/client.ts';
import { useLive } from '../../../data/live.ts';

export function EarlierRuns({
  network,
  current,
  onOpen,
}: {
  network: string;
  current: string | undefined;
  onOpen: (runId: string) => void;
}) {
  useLive('runs');
  const { data: runs } = useQuery({
    queryKey: ['runs', 'of-network', network, 'earlier'],
    queryFn: async () =>
      (await troupe.runs.list({ query: { networkId: network, triggerType: 'network', limit: 12 } })).data,
  });
  if (!runs?.length) return null;
  return (
    <section aria-label="Earlier runs" className="min-w-0">
      <h3 className="mb-1 text-xs font-semibold">Earlier runs</h3>
      <ul className="flex flex-col">
        {runs.map((run) => (
          <li key={run.id}>
            <button
              type="button"
              aria-current={run.id === current || undefined}
              onClick={() => onOpen(run.id)}
              className={cx(
                'flex w-full min-w-0 items-center gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover',
                run.id === current && 'bg-accent-soft',
              )}
            >
              <StatusBadge status={run.status} compact />
              <span className="min-w-0 flex-1 truncate" title={run.asked ?? ''}>
                {run.asked ?? 'An object'}
              </span>
              <span className="shrink-0 text-xs text-faint">
                v{run.networkVersion} · <Time value={run.createdAt} />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
