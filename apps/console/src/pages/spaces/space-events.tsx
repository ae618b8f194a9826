import { useMemo } from 'react';
import { EventList } from '../../blocks/event-list.tsx';
import { troupe } from '../../data/client.ts';

export default function SpaceEvents({
  spaceId,
  filter,
  onFilter,
}: {
  spaceId: string;
  filter: string;
  onFilter: (filter: string) => void;
}) {
  const source = useMemo(() => troupe.space(spaceId), [spaceId]);
  return <EventList source={source} name={spaceId} filter={filter} onFilter={onFilter} />;
}
