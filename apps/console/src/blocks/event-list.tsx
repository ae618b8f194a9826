import { useVirtualizer } from '@tanstack/react-virtual';
import type { Api } from '@troupe/sdk';
import { Json, Time } from '@troupe/ui';
import { ScrollText } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { type EventLogSource, useEventLog } from '../data/event-log.ts';
import { Button } from './button.tsx';
import { cx } from './cx.ts';
import { EventTypes } from './event-types.tsx';
import { Empty, Failure, Loading } from './states.tsx';
import { sayError } from './toast.tsx';

interface EventListProps {
  source: EventLogSource;
  /** Which thread it is: another name is another log. */
  name: string;
  /** A type (`run.completed`), or how types begin (`run.`). */
  filter: string;
  onFilter: (filter: string) => void;
}

/** The raw log of a thread: live, drawn only where it is seen, each event as JSON when it is clicked. */
export function EventList(props: EventListProps) {
  // What of another log is still on its way must not come to this one.
  return <OneEventList key={props.name} {...props} />;
}

function OneEventList({ source, name, filter, onFilter }: EventListProps) {
  const log = useEventLog(source, name);
  const [open, setOpen] = useState<number | null>(null);
  const [busy, setBusy] = useState(false);
  const types = useMemo(() => [...new Set(log.events?.map(({ type }) => type))].sort(), [log.events]);
  const shown = useMemo(
    () =>
      (log.events ?? []).filter(({ type }) =>
        filter.endsWith('.') ? type.startsWith(filter) : !filter || type === filter,
      ),
    [log.events, filter],
  );
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => frame.current,
    estimateSize: () => 30,
    overscan: 12,
    getItemKey: (index) => shown[index]!.sequence,
  });
  // Whoever looks at the end goes on looking at the end.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about how many there are
  useEffect(() => {
    if (isAtEnd.current && open === null && shown.length > 0)
      rows.scrollToIndex(shown.length - 1, { align: 'end' });
  }, [shown.length]);
  if (log.error) return <Failure error={log.error} />;
  if (!log.events) return <Loading />;
  const older = async () => {
    setBusy(true);
    isAtEnd.current = false;
    await log.loadOlder().catch(sayError);
    setBusy(false);
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <EventTypes types={types} className="max-w-52" value={filter} onChange={onFilter} />
        <span className="text-xs text-faint tabular-nums">
          {shown.length === log.events.length ? shown.length : `${shown.length} of ${log.events.length}`}
        </span>
        {log.hasOlder && (
          <Button kind="quiet" size="small" className="ml-auto" busy={busy} onClick={() => void older()}>
            Load older
          </Button>
        )}
      </div>
      {shown.length === 0 && (
        <Empty icon={ScrollText} title={filter ? 'None of this type' : 'No events yet'}>
          Whatever happens is written down here, with a number, before it is told to anybody.
        </Empty>
      )}
      <div
        ref={frame}
        className="min-h-0 flex-1 overflow-y-auto"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
      >
        <ul aria-label="Events" className="relative" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const event = shown[row.index]!;
            return (
              <li
                key={row.key}
                data-index={row.index}
                ref={rows.measureElement}
                className="absolute top-0 left-0 w-full border-b border-line"
                style={{ transform: `translateY(${row.start}px)` }}
              >
                <EventLine
                  event={event}
                  isOpen={open === event.sequence}
                  onToggle={() => setOpen(open === event.sequence ? null : event.sequence)}
                />
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

const tones: Record<string, string> = {
  completed: 'text-good',
  failed: 'text-bad',
  error: 'text-bad',
  refused: 'text-bad',
};

function EventLine({ event, isOpen, onToggle }: { event: Api.Event; isOpen: boolean; onToggle: () => void }) {
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex w-full items-center gap-2 px-4 py-1 text-left text-xs hover:bg-hover"
      >
        <span className="w-8 shrink-0 text-right text-faint tabular-nums">{event.sequence}</span>
        <span className={cx('shrink-0 font-mono', tones[event.type.split('.').at(-1)!])}>{event.type}</span>
        <span className="min-w-0 flex-1 truncate text-faint">{briefOf(event)}</span>
        <span className="shrink-0 text-faint tabular-nums">
          <Time value={event.createdAt} format="clock" />
        </span>
      </button>
      {isOpen && (
        <div className="px-4 pb-2">
          <Json value={event} label={`Event ${event.sequence}`} lines={40} />
        </div>
      )}
    </>
  );
}

/** What tells it apart from others of its type. */
function briefOf({ data }: Api.Event): string {
  const said = data.tool ?? data.name ?? data.role ?? data.code ?? data.status ?? data.waitsFor;
  return typeof said === 'string' ? said : '';
}
