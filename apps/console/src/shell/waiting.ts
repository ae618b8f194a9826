import { useQueries, useQuery } from '@tanstack/react-query';
import { troupe } from '../data/client.ts';
import { useLive } from '../data/live.ts';
import { systemQuery } from './system.ts';

/** More than that is told as more. */
const limit = 100;

const callsQuery = {
  queryKey: ['inbox', 'count'],
  queryFn: async () => {
    const lists = await Promise.all([
      troupe.inbox.list({ query: { limit } }),
      troupe.inbox.list({ query: { waitsFor: 'client', limit } }),
    ]);
    return lists.reduce((sum, { data }) => sum + data.length, 0);
  },
};

const questionsQuery = {
  queryKey: ['tasks', 'questions count'],
  queryFn: async () => {
    const { data } = await troupe.tasks.list({ query: { status: 'waiting', limit } });
    return data.filter(({ question }) => question !== null).length;
  },
};

const deadQuery = {
  queryKey: ['deliveries', 'dead count'],
  queryFn: async () => (await troupe.triggers.deliveries({ query: { status: 'dead', limit } })).data.length,
};

/** How much stands in the inbox: what waits for somebody, and what was given up. What one may not see counts nothing. */
export function useWaiting(): { waiting: number; dead: number } {
  useLive('inbox');
  useLive('tasks');
  useLive('deliveries');
  const { data: system } = useQuery(systemQuery);
  const seesTriggers = system !== undefined && system.caller.kind !== 'user';
  const [calls, questions, dead] = useQueries({
    queries: [callsQuery, questionsQuery, { ...deadQuery, enabled: seesTriggers }],
  });
  return { waiting: (calls.data ?? 0) + (questions.data ?? 0), dead: dead.data ?? 0 };
}
