import { useSyncExternalStore } from 'react';
import { queryClient } from '../../data/queries.ts';
import {
  type NetworkDemo,
  type SessionDemo,
  type SpaceDemo,
  startNetwork,
  startSession,
  startSpace,
  startTasks,
} from './demo.ts';

interface Demos {
  session: SessionDemo;
  space: SpaceDemo;
  network: NetworkDemo;
  tasks: SessionDemo;
}
export type DemoName = keyof Demos;
export type Stage<Of> =
  | { state: 'idle' }
  | { state: 'starting' }
  | { state: 'failed'; error: unknown }
  | { state: 'on'; demo: Of };
export type Tour = { [Name in DemoName]: Stage<Demos[Name]> };

const starts: { [Name in DemoName]: () => Promise<Demos[Name]> } = {
  session: startSession,
  space: startSpace,
  network: startNetwork,
  tasks: startTasks,
};
const KEY = 'troupe.tour';
const idle: Tour = {
  session: { state: 'idle' },
  space: { state: 'idle' },
  network: { state: 'idle' },
  tasks: { state: 'idle' },
};
let tour: Tour = restore();
const listeners = new Set<() => void>();

/** What was started stays while the tab is open, also where its reader goes elsewhere and comes back. */
function restore(): Tour {
  try {
    return { ...idle, ...JSON.parse(sessionStorage.getItem(KEY) ?? '{}') };
  } catch {
    return idle;
  }
}

function set<Name extends DemoName>(name: Name, stage: Tour[Name]): void {
  tour = { ...tour, [name]: stage };
  const on = Object.entries(tour).filter(([, { state }]) => state === 'on');
  sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries(on)));
  for (const listener of listeners) listener();
}

export async function startDemo<Name extends DemoName>(name: Name): Promise<void> {
  if (tour[name].state === 'starting') return;
  set(name, { state: 'starting' } as Tour[Name]);
  try {
    set(name, { state: 'on', demo: await starts[name]() } as Tour[Name]);
    // It made agents, people and a network, which the other pages are to know by name.
    for (const noun of ['agents', 'entities', 'networks'])
      void queryClient.invalidateQueries({ queryKey: [noun] });
  } catch (error) {
    set(name, { state: 'failed', error } as Tour[Name]);
  }
}

export function startAll(): void {
  for (const name of Object.keys(starts) as DemoName[]) void startDemo(name);
}

export function useTour(): Tour {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => tour,
  );
}
