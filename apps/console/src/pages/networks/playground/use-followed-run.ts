import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { troupe } from '../../../data/client.ts';
import { isEnd } from './path.ts';

/** So often at most what is shown of a run is read again while events come in. */
const EVERY_MS = 120;

export interface LiveText {
  step: number;
  text: string;
  /** The tool whose arguments are being written; null: the answer itself. */
  tool: string | null;
}

/** A run as it happens: its steps and calls, what its model is writing, and the sentences of refusals. */
export function useFollowedRun(runId: string) {
  const client = useQueryClient();
  const queryKey = ['run-of-network', runId];
  const query = useQuery({
    queryKey,
    queryFn: () => troupe.runs.get({ params: { runId } }),
    // The stream tells when to look; this is for what it cannot.
    refetchInterval: ({ state }) => (state.data && isEnd(state.data.status) ? false : 3_000),
  });
  const [live, setLive] = useState<LiveText | null>(null);
  const [refusals, setRefusals] = useState<Record<string, string>>({});
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is made of the id
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey });
      }, EVERY_MS);
    };
    const follow = async () => {
      for await (const item of troupe.run(runId).stream({ signal: stop.signal })) {
        if (item.kind === 'delta') {
          const { step, offset, text, name } = item.delta;
          setLive((before) => ({
            step,
            tool: name ?? null,
            text: before?.step === step && offset > 0 ? before.text.slice(0, offset) + text : text,
          }));
        }
        if (item.kind !== 'event') continue;
        const { type, step, data } = item.event;
        if (type === 'step.generated' || type.startsWith('run.')) setLive(null);
        if (type === 'decision.refused')
          setRefusals((before) => ({ ...before, [`${step} ${data.id ?? ''}`]: String(data.message) }));
        look();
        if (['run.completed', 'run.failed', 'run.canceled'].includes(type)) return;
      }
    };
    follow().catch(() => {
      // Left, or refused: the list that is asked again says so.
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [client, runId]);
  return { query, live, refusals };
}
