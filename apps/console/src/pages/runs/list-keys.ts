import { useEffect, useRef } from 'react';

/** `j` and `k` move through a list, `x` selects. Enter is the link's own. Not while somebody writes or a dialog is open. */
export function useListKeys(keys: {
  ids: string[];
  current: string | null;
  onMove: (id: string) => void;
  onToggle: (id: string) => void;
}): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let leader = 0;
    const press = (event: KeyboardEvent) => {
      const { ids, current, onMove, onToggle } = latest.current;
      if (event.metaKey || event.ctrlKey || event.altKey || isElsewhere(event.target)) return;
      // `g` and a letter go to another page.
      if (event.key === 'g') leader = event.timeStamp;
      if (event.timeStamp - leader < 1_200) return;
      const at = current === null ? -1 : ids.indexOf(current);
      if (event.key === 'j' || event.key === 'k') {
        const next = ids[event.key === 'j' ? Math.min(at + 1, ids.length - 1) : Math.max(at - 1, 0)];
        if (next) onMove(next);
      } else if (event.key === 'x' && current !== null && at >= 0) onToggle(current);
      else return;
      event.preventDefault();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}

function isElsewhere(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const writes = /^(TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
  const isText = target instanceof HTMLInputElement && target.type !== 'checkbox';
  return writes || isText || target.closest('[role="dialog"], [role="menu"]') !== null;
}
