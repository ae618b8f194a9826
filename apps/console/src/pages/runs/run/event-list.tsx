import { useVirtualizer } from '@tanstack/react-virtual';
import type { Api } from '@troupe/sdk';
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { Spinner } from '../../../blocks/button.tsx';
import { useSettings } from '../../../data/settings.ts';
import type { EventLog } from './event-log.ts';
import { EventRow, ROW } from './event-row.tsx';

/** Where to go, and when that was said: the same twice is said twice. */
export interface ScrollTarget {
  where: 'start' | 'end';
  at: number;
}

/** So many rows before the end of what is loaded, more is asked for. */
const AHEAD = 400;

export function EventList({
  head,
  tail,
  putBefore,
  isWhole,
  log,
  error,
  follows,
  place,
  open,
  onOpen,
}: {
  head: readonly Api.Event[];
  tail: readonly Api.Event[] | null;
  putBefore: number;
  isWhole: boolean;
  log: EventLog;
  error: unknown;
  follows: boolean;
  place: ScrollTarget | null;
  open: number | undefined;
  onOpen: (sequence: number) => void;
}) {
  const { timeZone } = useSettings();
  const clock = useMemo(
    () =>
      new Intl.DateTimeFormat('en', {
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        fractionalSecondDigits: 3,
        hourCycle: 'h23',
        ...(timeZone ? { timeZone } : {}),
      }),
    [timeZone],
  );
  const scroller = useRef<HTMLElement>(null);
  // Between head and tail stands one row for all that is not loaded.
  const gap = tail ? head.length : -1;
  const count = head.length + (tail ? tail.length + 1 : 0);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  const rows = virtual.getVirtualItems();
  const first = rows[0]?.index ?? 0;
  const last = rows.at(-1)?.index ?? 0;

  useEffect(() => {
    if (error) return;
    const middle = (first + last) / 2;
    if (gap < 0) {
      if (!isWhole && last >= count - AHEAD) void log.down();
    } else if (middle >= gap) {
      if (first <= gap + AHEAD) void log.up();
    } else if (last >= gap - AHEAD) void log.down();
  }, [first, last, gap, count, isWhole, log, error]);

  // What is put in above must not move what is looked at.
  const before = useRef(putBefore);
  useLayoutEffect(() => {
    const added = putBefore - before.current;
    before.current = putBefore;
    if (added !== 0 && scroller.current) scroller.current.scrollTop += added * ROW;
  }, [putBefore]);

  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: when rows come
  useLayoutEffect(() => {
    if (follows && atEnd.current && scroller.current)
      scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [follows, count]);
  useLayoutEffect(() => {
    if (!place || !scroller.current) return;
    scroller.current.scrollTop = place.where === 'start' ? 0 : scroller.current.scrollHeight;
  }, [place]);

  const keys = (event: KeyboardEvent) => {
    const row = (event.target as HTMLElement).closest('li');
    if (!row || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return;
    const next = event.key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
    const button = next?.querySelector('button');
    if (!button) return;
    event.preventDefault();
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: 'nearest' });
  };
  const eventAt = (index: number) => (gap < 0 || index < gap ? head[index] : tail![index - gap - 1]);
  return (
    <section
      ref={scroller}
      aria-label="Events"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      onKeyDown={keys}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < ROW * 2;
      }}
      className="min-h-0 min-w-0 flex-1 overflow-y-auto bg-surface [overflow-anchor:none]"
    >
      <ol className="relative" style={{ height: virtual.getTotalSize() }}>
        {rows.map(({ index, start }) => {
          const event = index === gap ? undefined : eventAt(index);
          if (!event) return <Gap key="gap" top={start} isNearEnd={index === gap} />;
          return (
            <EventRow
              key={event.sequence}
              event={event}
              top={start}
              isOpen={open === event.sequence}
              clock={clock}
              onOpen={onOpen}
            />
          );
        })}
      </ol>
    </section>
  );
}

function Gap({ top, isNearEnd }: { top: number; isNearEnd: boolean }) {
  return (
    <li
      className="absolute inset-x-0 flex items-center justify-center gap-2 bg-sunken text-xs text-faint"
      style={{ transform: `translateY(${top}px)`, height: ROW }}
    >
      <Spinner /> {isNearEnd ? 'Events in between' : 'Loading…'}
    </li>
  );
}
