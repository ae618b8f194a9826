import { queryOptions } from '@tanstack/react-query';
import { troupe } from '../../data/client.ts';

export const spaceQuery = (spaceId: string) =>
  queryOptions({ queryKey: ['spaces', 'one', spaceId], queryFn: () => troupe.space(spaceId).get() });

export const membersQuery = (spaceId: string) =>
  queryOptions({ queryKey: ['spaces', 'members', spaceId], queryFn: () => troupe.space(spaceId).members() });
