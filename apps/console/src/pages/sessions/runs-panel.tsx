import { Activity } from 'lucide-react';
import { RunList } from '../../blocks/run-list.tsx';
import { Empty } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';

export function RunsPanel({ sessionId }: { sessionId: string }) {
  useLive('runs');
  const list = useCursorPages(['runs', 'of session', sessionId], (page) =>
    troupe.runs.list({ query: { sessionId, ...page } }),
  );
  return (
    <RunList
      list={list}
      empty={
        <Empty icon={Activity} title="No runs yet">
          Every message that is answered makes a run.
        </Empty>
      }
    />
  );
}
