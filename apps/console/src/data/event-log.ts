import type { Api, StreamItem } from '@troupe/sdk';
import { useEffect, useState } from 'react';

/** Where events come from: `troupe.session(…)`, `troupe.space(…)`, `troupe.run(…)`. */
export interface EventLogSource {
  events(query: { after?: number; limit?: number }): Promise<{ data: Api.Event[]; lastSequence: number }>;
  stream(options: { after: number; signal: AbortSignal }): AsyncIterable<StreamItem>;
}

export interface EventLog {
  /** In their order; null until the first are there. */
  events: readonly Api.Event[] | null;
  error: Error | null;
  hasOlder: boolean;
  loadOlder: () => Promise<void>;
}

const PAGE = 500;

/** The last events of a thread and all that come. Pieces of text that are being written are no events, and not here. */
export function useEventLog(source: EventLogSource, key: string): EventLog {
  const [events, setEvents] = useState<readonly Api.Event[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says whose events they are
  useEffect(() => {
    const leaving = new AbortController();
    setEvents(null);
    setError(null);
    follow(source, leaving.signal, (more) => setEvents((known) => joined(known, more))).catch((reason) => {
      if (!leaving.signal.aborted) setError(reason instanceof Error ? reason : new Error(String(reason)));
    });
    return () => leaving.abort();
  }, [key]);
  const first = events?.[0]?.sequence ?? 1;
  return {
    events,
    error,
    hasOlder: first > 1,
    loadOlder: async () => {
      const after = Math.max(0, first - 1 - PAGE);
      const { data } = await source.events({ after, limit: PAGE });
      setEvents((known) => joined(data, known ?? []));
    },
  };
}

async function follow(
  source: EventLogSource,
  signal: AbortSignal,
  add: (events: readonly Api.Event[]) => void,
): Promise<void> {
  const { lastSequence } = await source.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 });
  const after = Math.max(0, lastSequence - PAGE);
  if (lastSequence === 0) add([]);
  // What comes at once is shown at once: an update for each of five hundred would take seconds.
  let waiting: Api.Event[] = [];
  const tell = () => {
    add(waiting);
    waiting = [];
  };
  for await (const item of source.stream({ after, signal })) {
    if (item.kind !== 'event') continue;
    waiting.push(item.event);
    if (waiting.length === 1) setTimeout(tell, 50);
  }
}

function joined(known: readonly Api.Event[] | null, more: readonly Api.Event[]): readonly Api.Event[] {
  if (!known) return more;
  const last = known.at(-1)?.sequence ?? 0;
  const fresh = more.filter(({ sequence }) => sequence > last);
  return fresh.length > 0 ? [...known, ...fresh] : known;
}
