import { queryOptions } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { troupe } from '../../../data/client.ts';
import { hasEnded } from '../filter.ts';

/** How often a run that has not ended is looked at again. */
const AT_WORK = 1_500;
const whileAtWork = (query: { state: { data: { status: string } | undefined } }) =>
  query.state.data && hasEnded(query.state.data) ? false : AT_WORK;

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ['runs', 'one', runId],
    queryFn: () => troupe.runs.get({ params: { runId } }),
    refetchInterval: whileAtWork,
  });
export type RunDetails = Awaited<ReturnType<typeof troupe.runs.get>>;

export const timelineQuery = (runId: string) =>
  queryOptions({
    queryKey: ['runs', 'timeline', runId],
    queryFn: () => troupe.runs.timeline({ params: { runId } }),
    refetchInterval: whileAtWork,
  });

export const promptQuery = (runId: string, step: number) =>
  queryOptions({
    queryKey: ['runs', 'prompt', runId, step],
    queryFn: () => troupe.runs.prompt({ params: { runId, step } }),
    staleTime: 60_000,
  });

/** How many messages of a run are read for its steps. */
const MOST = 3_000;

/** What a run was asked and what it said. `version` is where the run stands: with another one there are other messages. */
export const ownMessagesQuery = (runId: string, version: string) =>
  queryOptions({
    queryKey: ['run-messages', runId, version],
    queryFn: async () => {
      const messages: Api.Message[] = [];
      for (let after = 0; messages.length < MOST; ) {
        const page = await troupe.runs.messages({
          params: { runId },
          query: { of: 'run', after, limit: 1_000 },
        });
        messages.push(...page.data);
        if (page.data.length < 1_000) break;
        after = page.data.at(-1)!.sequence;
      }
      return messages;
    },
    staleTime: 60_000,
    placeholderData: (before) => before,
  });

/** What makes its messages other than they were. */
export function versionOf({ status, step, calls }: RunDetails): string {
  return `${status} ${step} ${calls.filter(({ settledAt }) => settledAt !== null).length}`;
}

/** Runs that its calls began. */
export const childrenQuery = (runId: string) =>
  queryOptions({
    queryKey: ['runs', 'children', runId],
    queryFn: () => troupe.runs.list({ query: { parentRunId: runId, limit: 50 } }),
  });
