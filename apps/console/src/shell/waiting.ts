import { useQuery } from '@tanstack/react-query';
import { troupe } from '../data/client.ts';
import { useLive } from '../data/live.ts';
import { systemQuery } from './system.ts';

interface Waiting {
  /** What waits for somebody: to approve, to answer, to say what became of a call. */
  waiting: number;
  /** Deliveries that were given up. */
  dead: number;
}

/** For single people, who cannot ask how the whole project stands, more than that is told as more. */
const limit = 100;

async function ofProject(): Promise<Waiting> {
  const { inbox, waiting, deadDeliveries } = await troupe.system.overview();
  const { client = 0 } = waiting.calls;
  return { waiting: inbox + client, dead: deadDeliveries };
}

async function ofPerson(): Promise<Waiting> {
  const [calls, clients] = await Promise.all([
    troupe.inbox.list({ query: { limit } }),
    troupe.inbox.list({ query: { waitsFor: 'client', limit } }),
  ]);
  return { waiting: calls.data.length + clients.data.length, dead: 0 };
}

/** How much stands in the inbox. What one may not see counts nothing. */
export function useWaiting(): Waiting {
  useLive('inbox');
  const { data: system } = useQuery(systemQuery);
  const isPerson = system?.caller.kind === 'user';
  const { data } = useQuery({
    queryKey: ['inbox', 'count', isPerson],
    queryFn: isPerson ? ofPerson : ofProject,
    enabled: system !== undefined,
  });
  return data ?? { waiting: 0, dead: 0 };
}
