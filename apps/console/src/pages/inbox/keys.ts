import { useEffect, useRef } from 'react';

/** What each key does here, as long as nobody writes and no dialog is open. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    // What follows a `g` is the way to another page.
    let led = 0;
    const press = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      const { target } = event;
      if (target instanceof HTMLElement) {
        const isWriting = target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
        const isField = target instanceof HTMLInputElement && target.type !== 'checkbox';
        if (isWriting || isField || target.closest('[role="dialog"]')) return;
      }
      if (event.key === 'g') led = event.timeStamp;
      else if (event.timeStamp - led >= 1_200) {
        const act = latest.current[event.key];
        if (!act) return;
        event.preventDefault();
        act();
      } else led = 0;
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}
