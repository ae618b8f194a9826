import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { Json, Time } from '@troupe/ui';
import { X } from 'lucide-react';
import { IconButton } from '../../../blocks/button.tsx';
import { Empty, Loaded } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';

/** One event, all of it. Where the list has not come to it yet, as after a link, it is asked for. */
export function EventDetails({
  runId,
  sequence,
  event,
  onClose,
}: {
  runId: string;
  sequence: number;
  event: Api.Event | undefined;
  onClose: () => void;
}) {
  const asked = useQuery({
    queryKey: ['run-event', runId, sequence],
    enabled: event === undefined,
    queryFn: async () => {
      const query = { after: Math.max(0, sequence - 1), limit: 1 };
      const [found] = (await troupe.runs.events({ params: { runId }, query })).data;
      return found?.sequence === sequence ? found : null;
    },
  });
  return (
    <aside
      aria-label="Event"
      className="flex max-h-[45%] min-h-0 shrink-0 flex-col border-t border-line bg-surface lg:max-h-none lg:w-[26rem] lg:border-t-0 lg:border-l"
    >
      <header className="flex items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="min-w-0 flex-1 truncate text-sm font-semibold">Event {sequence}</h2>
        <IconButton label="Close" icon={X} onClick={onClose} />
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">
        {event ? (
          <Shown event={event} runId={runId} />
        ) : (
          <Loaded query={asked}>
            {(found) =>
              found ? <Shown event={found} runId={runId} /> : <Empty title="This run has no such event" />
            }
          </Loaded>
        )}
      </div>
    </aside>
  );
}

function Shown({ event, runId }: { event: Api.Event; runId: string }) {
  return (
    <div className="flex flex-col gap-3 text-sm">
      <p className="font-medium">{event.type}</p>
      <p className="flex flex-wrap gap-x-4 text-xs text-muted">
        <Time value={event.createdAt} format="exact" />
        {event.step !== undefined && event.step > 0 && (
          <Link
            to="/runs/$runId"
            params={{ runId }}
            search={{ tab: 'steps', step: event.step }}
            className="text-accent-strong hover:underline"
          >
            Step {event.step}
          </Link>
        )}
      </p>
      <Json value={event} lines={200} label="Event as JSON" />
    </div>
  );
}
