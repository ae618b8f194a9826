import { queryOptions } from '@tanstack/react-query';
import { troupe } from './client.ts';

export const projectQuery = queryOptions({
  queryKey: ['project'],
  queryFn: () => troupe.access.getProject(),
});
