import { useEffect } from 'react';
import { troupe } from './client.ts';
import { queryClient } from './queries.ts';

// One connection for the whole page says which lists have changed; those that are shown are then asked for again. A page that nobody looks at has
// none: browsers open six connections to a server, for all of its tabs together.

/** How many places on the page show something of a noun. */
const shown = new Map<string, number>();
/** What has changed since the last look; asked for again together, so that a busy server is not asked for every run. */
const changed = new Set<string>();
const GATHER_MS = 300;
/** For what the server says nothing about, and while it says nothing at all. */
const FALLBACK_MS = 4_000;
/** What else may be another when one of these is. */
const follows: Record<string, string[]> = {
  runs: ['overview'],
  inbox: ['overview'],
  tasks: ['overview', 'inbox'],
  deliveries: ['overview', 'inbox'],
};
const told = new Set(['runs', 'sessions', 'spaces', 'tasks', 'inbox', 'deliveries', 'overview']);

let connection: AbortController | null = null;
let isConnected = false;
let timer: ReturnType<typeof setTimeout> | undefined;

function look(): void {
  timer = undefined;
  // What is not shown is asked for again when it is: a page that one comes back to within seconds must not show what was.
  for (const noun of changed) {
    const refetchType = shown.has(noun) ? 'active' : 'none';
    void queryClient.invalidateQueries({ queryKey: [noun], refetchType });
  }
  changed.clear();
}

function mark(noun: string): void {
  for (const one of [noun, ...(follows[noun] ?? [])]) changed.add(one);
  if (!timer) timer = setTimeout(look, GATHER_MS);
}

async function connect(): Promise<void> {
  const own = new AbortController();
  connection = own;
  try {
    const items = troupe.changes({ signal: own.signal, onDisconnect: () => (isConnected = false) });
    for await (const item of items) {
      isConnected = true;
      if (item.type === 'resync') for (const noun of [...told, ...shown.keys()]) mark(noun);
      else mark(item.collection);
    }
  } catch {
    // This key may not hear it: every few seconds then.
  } finally {
    if (connection === own) isConnected = false;
  }
}

function arrange(): void {
  const isWanted = document.visibilityState === 'visible' && shown.size > 0;
  if (isWanted && !connection) void connect();
  else if (!isWanted && connection) {
    connection.abort();
    connection = null;
    isConnected = false;
  }
}

document.addEventListener('visibilitychange', arrange);
setInterval(() => {
  if (document.visibilityState !== 'visible') return;
  for (const noun of shown.keys()) if (!isConnected || !told.has(noun)) mark(noun);
}, FALLBACK_MS);

/** Keeps what the page shows of a noun true: queries whose keys begin with it are asked again when something of it changes. */
export function useLive(noun: string): void {
  useEffect(() => {
    shown.set(noun, (shown.get(noun) ?? 0) + 1);
    arrange();
    return () => {
      const left = shown.get(noun)! - 1;
      if (left > 0) shown.set(noun, left);
      else shown.delete(noun);
      // Another page may want it in a moment.
      setTimeout(arrange, 1_000);
    };
  }, [noun]);
}
