import { useSyncExternalStore } from 'react';
import { parseRunsSearch, type RunsSearch } from './filter.ts';

/** Filters under a name. */
export interface View {
  name: string;
  search: RunsSearch;
}

export const readyMade: View[] = [
  { name: 'All', search: {} },
  { name: 'Failed today', search: { status: 'failed', since: 'today' } },
  { name: 'Running', search: { status: 'queued,running' } },
  { name: 'Waiting for people', search: { status: 'waiting_tool,waiting_reply' } },
];

const KEY = 'troupe.runs.views';
const listeners = new Set<() => void>();
let own: View[] = read();

function read(): View[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored
      .filter((view) => typeof view?.name === 'string' && typeof view?.search === 'object' && view.search)
      .map(({ name, search }) => ({ name, search: parseRunsSearch(search) }));
  } catch {
    return [];
  }
}

function keep(views: View[]): void {
  own = views;
  localStorage.setItem(KEY, JSON.stringify(views));
  for (const listener of listeners) listener();
}

/** A view of the same name is replaced. */
export function saveView(view: View): void {
  keep([...own.filter(({ name }) => name !== view.name), view]);
}

export function removeView(gone: string): void {
  keep(own.filter(({ name }) => name !== gone));
}

/** Those that this browser keeps. */
export function useOwnViews(): View[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => own,
  );
}

export function isSameSearch(one: RunsSearch, other: RunsSearch): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof RunsSearch>;
  return [...names].every((name) => one[name] === other[name]);
}
