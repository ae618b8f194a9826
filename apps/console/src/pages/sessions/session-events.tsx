import { useMemo } from 'react';
import { EventList } from '../../blocks/event-list.tsx';
import { troupe } from '../../data/client.ts';

export default function SessionEvents({
  agentId,
  sessionId,
  filter,
  onFilter,
}: {
  agentId: string;
  sessionId: string;
  filter: string;
  onFilter: (filter: string) => void;
}) {
  const source = useMemo(() => troupe.session(agentId, sessionId), [agentId, sessionId]);
  return <EventList source={source} name={sessionId} filter={filter} onFilter={onFilter} />;
}
