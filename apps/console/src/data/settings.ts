import { useSyncExternalStore } from 'react';

/** What this browser remembers of its reader: theme, time zone, who he is in spaces, whether the tour was seen. */
export interface Settings {
  theme: 'system' | 'light' | 'dark';
  /** An IANA name; null: that of the browser. */
  timeZone: string | null;
  /** The entity that he speaks as in spaces. */
  entityId: string | null;
  sidebar: 'wide' | 'narrow';
  tourDone: boolean;
}

const KEY = 'troupe.settings';
const initial: Settings = {
  theme: 'system',
  timeZone: null,
  entityId: null,
  sidebar: 'wide',
  tourDone: false,
};
const listeners = new Set<() => void>();
let current: Settings = read();

function read(): Settings {
  try {
    return { ...initial, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') };
  } catch {
    return initial;
  }
}

function tell(): void {
  applyTheme();
  for (const listener of listeners) listener();
}

export function changeSettings(change: Partial<Settings>): void {
  current = { ...current, ...change };
  localStorage.setItem(KEY, JSON.stringify(current));
  tell();
}

export function currentSettings(): Settings {
  return current;
}

export function useSettings(): Settings {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

export function applyTheme(): void {
  const root = document.documentElement;
  if (current.theme === 'system') root.removeAttribute('data-theme');
  else root.setAttribute('data-theme', current.theme);
}

// Another tab changed them.
window.addEventListener('storage', ({ key }) => {
  if (key !== KEY) return;
  current = read();
  tell();
});
