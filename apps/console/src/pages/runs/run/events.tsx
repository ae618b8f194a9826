import { eventTypes } from '@troupe/protocol';
import type { Api } from '@troupe/sdk';
import { ArrowDownToLine, ArrowUpToLine } from 'lucide-react';
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Button, Spinner } from '../../../blocks/button.tsx';
import { EventTypes } from '../../../blocks/event-types.tsx';
import { Checkbox, Input } from '../../../blocks/field.tsx';
import { Empty, Failure, Loading } from '../../../blocks/states.tsx';
import { sayError } from '../../../blocks/toast.tsx';
import { formatNumber } from '../../../data/format.ts';
import { hasEnded } from '../filter.ts';
import type { RunSearch } from '../search.ts';
import { EventDetails } from './event-details.tsx';
import { EventList, type ScrollTarget } from './event-list.tsx';
import { EventLog } from './event-log.ts';
import { searchable } from './event-row.tsx';
import type { RunDetails } from './queries.ts';
import type { ChangeSearch } from './run.tsx';

/** Everything that happened in a run, however much that is: only what is in sight is in the page. */
export default function Events({
  run,
  search,
  onChange,
}: {
  run: RunDetails;
  search: RunSearch;
  onChange: ChangeSearch;
}) {
  const log = useMemo(() => new EventLog(run.id, search.types), [run.id, search.types]);
  const state = useSyncExternalStore(log.subscribe, log.state);
  const [follows, setFollows] = useState(!hasEnded(run));
  const [place, setPlace] = useState<ScrollTarget | null>(null);
  const find = useDeferredValue((search.find ?? '').trim().toLowerCase());

  useEffect(() => {
    log.open();
    void log.start();
    return () => log.close();
  }, [log]);
  useEffect(() => {
    if (!follows) return;
    const leaving = new AbortController();
    log.follow(leaving.signal).catch((error) => {
      if (!leaving.signal.aborted) sayError(error);
    });
    return () => leaving.abort();
  }, [log, follows]);
  useEffect(() => {
    if (!find) return;
    const leaving = new AbortController();
    void log.all(leaving.signal);
    return () => leaving.abort();
  }, [log, find]);

  const { head, tail } = state;
  const shown = useMemo(() => {
    if (!find) return { head, tail };
    const fits = (event: Api.Event) => searchable(event).includes(find);
    return { head: head.filter(fits), tail: tail?.filter(fits) ?? null };
  }, [head, tail, find]);
  const loaded = head.length + (tail?.length ?? 0);
  const isFirstLoad = loaded === 0 && state.loading !== null;

  const jump = async (where: 'start' | 'end') => {
    if (where === 'end') await log.end();
    setPlace({ where, at: Date.now() });
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line bg-surface px-4 py-2 md:px-6">
        <Input
          type="search"
          aria-label="Search events"
          placeholder="Search in all events"
          className="w-52"
          value={search.find ?? ''}
          onChange={({ target }) => onChange({ find: target.value || undefined })}
        />
        <EventTypes
          types={eventTypes}
          className="w-auto max-w-48"
          // The API takes `run.*` for all types of a noun.
          value={search.types?.replace(/\*$/, '') ?? ''}
          onChange={(type) =>
            onChange({ types: type.endsWith('.') ? `${type}*` : type || undefined, event: undefined })
          }
        />
        <Checkbox label="Follow" checked={follows} onChange={setFollows} />
        <span role="status" className="flex items-center gap-1.5 text-xs text-faint tabular-nums">
          {state.loading && <Spinner />}
          {find
            ? `${formatNumber(shown.head.length + (shown.tail?.length ?? 0))} of ${formatNumber(loaded)} ${state.isWhole ? '' : 'searched so far'}`
            : `${loaded.toLocaleString('en')} ${state.isWhole ? 'events' : 'loaded'}`}
        </span>
        <span className="ml-auto flex gap-1">
          <Button size="small" icon={ArrowUpToLine} onClick={() => void jump('start')}>
            Start
          </Button>
          <Button size="small" icon={ArrowDownToLine} onClick={() => void jump('end')}>
            End
          </Button>
        </span>
      </div>
      {state.error && loaded === 0 ? (
        <Failure error={state.error} retry={() => void log.start()} />
      ) : isFirstLoad ? (
        <Loading />
      ) : shown.head.length + (shown.tail?.length ?? 0) === 0 ? (
        <Empty title={find || search.types ? 'No event fits' : 'Nothing has happened yet'} />
      ) : (
        <div className="flex min-h-0 flex-1 flex-col lg:flex-row">
          <EventList
            head={shown.head}
            tail={shown.tail}
            putBefore={find ? 0 : state.putBefore}
            isWhole={state.isWhole}
            log={log}
            error={state.error}
            follows={follows}
            place={place}
            open={search.event}
            onOpen={(event) => onChange({ event: event === search.event ? undefined : event })}
          />
          {search.event !== undefined && (
            <EventDetails
              runId={run.id}
              sequence={search.event}
              event={eventIn(head, search.event) ?? eventIn(tail ?? [], search.event)}
              onClose={() => onChange({ event: undefined })}
            />
          )}
        </div>
      )}
    </div>
  );
}

/** They are in order. */
function eventIn(events: readonly Api.Event[], sequence: number): Api.Event | undefined {
  let from = 0;
  let to = events.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (events[middle]!.sequence < sequence) from = middle + 1;
    else to = middle;
  }
  return events[from]?.sequence === sequence ? events[from] : undefined;
}
