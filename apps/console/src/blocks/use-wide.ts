import { useSyncExternalStore } from 'react';

/** Whether the window is at least so wide that things have room side by side. */
export function useWide(least = 1_024): boolean {
  const query = `(min-width: ${least}px)`;
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => window.matchMedia(query).matches,
  );
}
