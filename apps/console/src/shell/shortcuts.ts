import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { allPlaces } from './navigation.ts';

/** ⌘K or Ctrl+K for the palette, `?` for help, `g` and a letter for a place. Not while somebody writes. */
export function useShortcuts({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }): void {
  const navigate = useNavigate();
  const latest = useRef({ onPalette, onHelp });
  latest.current = { onPalette, onHelp };
  useEffect(() => {
    let leader = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        latest.current.onPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
      if (event.key === '?') {
        event.preventDefault();
        latest.current.onHelp();
      } else if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('main input[type="search"]');
        if (search) {
          event.preventDefault();
          search.focus();
        }
      } else if (event.key === 'g') leader = event.timeStamp;
      else if (event.timeStamp - leader < 1_200) {
        leader = Number.NEGATIVE_INFINITY;
        const place = allPlaces.find(({ key }) => key === event.key);
        if (place) {
          event.preventDefault();
          void navigate({ to: place.to });
        }
      }
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [navigate]);
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
