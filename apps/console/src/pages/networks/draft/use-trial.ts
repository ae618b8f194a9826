import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Api, ApiError } from '@troupe/sdk';
import { useEffect, useRef, useState } from 'react';
import { troupe } from '../../../data/client.ts';
import type { Definition } from './definition.ts';
import type { Draft } from './use-draft.ts';

export interface Trial {
  /** What keeps it from being published. */
  problems: Api.NetworkProblem[];
  /** What keeps it from being saved, with the server's own paths (by place). */
  refused: { message: string; issues: Api.NetworkProblem[] } | null;
}

const PATIENCE_MS = 250;
const NOTHING: Trial = { problems: [], refused: null };

/** What the server says to the draft as it is now, without saving it. Asked a moment after the last edit. */
export function useTrial({ networkId, definition, base }: Draft): { trial: Trial; isCurrent: boolean } {
  // Documents are large: each is asked about by a number.
  const [asked, setAsked] = useState({ number: 0, definition });
  const number = useRef(0);
  useEffect(() => {
    if (asked.definition === definition) return;
    const timer = setTimeout(() => {
      number.current += 1;
      setAsked({ number: number.current, definition });
    }, PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [definition, asked]);
  const query = useQuery({
    queryKey: ['network-trials', networkId, base.updatedAt, asked.number],
    queryFn: ({ signal }) => tried(networkId, asked.definition, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 0,
  });
  return {
    trial: query.data ?? NOTHING,
    isCurrent: query.isSuccess && !query.isPlaceholderData && asked.definition === definition,
  };
}

async function tried(networkId: string, body: Definition, signal: AbortSignal): Promise<Trial> {
  const params = { network: networkId };
  try {
    const { problems } = await troupe.networks.apply({ params, query: { dryRun: 'true' }, body }, { signal });
    return { problems, refused: null };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A key that may only read learns what is wrong with what is stored.
    if (error.status === 403) {
      const { problems } = await troupe.networks.validate({ params }, { signal });
      return { problems, refused: null };
    }
    if (error.status >= 500) throw error;
    const issues = error.issues.map((issue) => ({ ...issue, code: error.code }));
    return { problems: issues, refused: { message: error.message, issues } };
  }
}
