import { queryOptions } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { troupe } from '../data/client.ts';

/** What people are asked: to approve, to say what became of a call, to answer a sub-agent. */
export const askedOfPeople = ({ inbox, waiting }: Api.Overview) => inbox + (waiting.calls.answer ?? 0);

/** Everything that the inbox has, for the mark beside its name. */
export const waitingQuery = queryOptions({
  queryKey: ['inbox', 'count'],
  queryFn: async () => {
    const overview = await troupe.system.overview();
    return askedOfPeople(overview) + (overview.waiting.calls.client ?? 0) + overview.deadDeliveries;
  },
});
