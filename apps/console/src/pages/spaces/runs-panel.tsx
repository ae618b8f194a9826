import { Activity } from 'lucide-react';
import { RunList } from '../../blocks/run-list.tsx';
import { Empty } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { useCursorPages } from '../../data/cursor-pages.ts';
import { useLive } from '../../data/live.ts';
import { useAgentName } from '../../data/names.ts';

export function RunsPanel({ spaceId }: { spaceId: string }) {
  const nameOf = useAgentName();
  useLive('runs');
  const list = useCursorPages(['runs', 'of space', spaceId], (page) =>
    troupe.spaces.runs({ params: { spaceId }, query: page }),
  );
  return (
    <RunList
      list={list}
      nameOf={({ agentId }) => nameOf(agentId)}
      empty={
        <Empty icon={Activity} title="No runs yet">
          A message makes a run of every agent that it starts.
        </Empty>
      }
    />
  );
}
