import { createContext, useContext, useMemo, useSyncExternalStore } from 'react';

export interface TimeSettings {
  /** Such as `Europe/Berlin`. Left out: that of the browser. */
  timeZone?: string | undefined;
  /** Such as `en-GB`. Left out: that of the browser. */
  locale?: string | undefined;
}

const Settings = createContext<TimeSettings>({});

/** In which time zone and language times are shown below it. */
export const TimeProvider = Settings.Provider;
export const useTimeSettings = (): TimeSettings => useContext(Settings);

export interface TimeProps {
  value: string | number | Date | null | undefined;
  /** `relative`: 3 min ago. `clock`: 14:05. `day`: Today, 3 March. `exact`: all of it. Default: `relative`. */
  format?: 'relative' | 'clock' | 'day' | 'exact' | undefined;
  /** Where there is no time. Default: a dash. */
  empty?: string | undefined;
  className?: string | undefined;
}

export function Time({ value, format = 'relative', empty = '–', className }: TimeProps) {
  const settings = useContext(Settings);
  const now = useNow(format === 'relative');
  if (value === null || value === undefined) return <span className={className}>{empty}</span>;
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return <span className={className}>{empty}</span>;
  const exact = exactTime(date, settings);
  const text = {
    relative: () => relativeTime(date.getTime() - now, settings),
    clock: () => formatOf({ hour: '2-digit', minute: '2-digit' }, settings).format(date),
    day: () => dayOf(date, now, settings),
    exact: () => exact,
  }[format]();
  return (
    <time className={className} dateTime={date.toISOString()} title={exact}>
      {text}
    </time>
  );
}

/** Making one takes longer than using it a hundred times. */
const formats = new Map<string, Intl.DateTimeFormat>();

export function formatOf(options: Intl.DateTimeFormatOptions, settings: TimeSettings): Intl.DateTimeFormat {
  const key = JSON.stringify([options, settings.locale, settings.timeZone]);
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat(settings.locale, { ...options, ...zoneOf(settings) });
    formats.set(key, found);
  }
  return found;
}

/** A zone that this browser does not know must not take the page down. */
function zoneOf({ timeZone }: TimeSettings): { timeZone?: string } {
  if (!timeZone) return {};
  try {
    new Intl.DateTimeFormat(undefined, { timeZone });
    return { timeZone };
  } catch {
    return {};
  }
}

function exactTime(date: Date, settings: TimeSettings): string {
  const options = { dateStyle: 'medium', timeStyle: 'long' } as const;
  return formatOf(options, settings).format(date);
}

const UNITS = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['week', 604_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

function relativeTime(distance: number, { locale }: TimeSettings): string {
  const words = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
  for (const [unit, size] of UNITS) {
    if (Math.abs(distance) >= size) return words.format(Math.trunc(distance / size), unit);
  }
  return words.format(0, 'second');
}

/** The day in its zone, to compare and to group by. */
export function dayKey(date: Date, settings: TimeSettings): string {
  return formatOf({ year: 'numeric', month: '2-digit', day: '2-digit' }, settings).format(date);
}

function dayOf(date: Date, now: number, settings: TimeSettings): string {
  const words = new Intl.RelativeTimeFormat(settings.locale, { numeric: 'auto' });
  const capital = (text: string) => text.charAt(0).toLocaleUpperCase(settings.locale) + text.slice(1);
  for (const days of [0, -1]) {
    const day = dayKey(new Date(now + days * 86_400_000), settings);
    if (day === dayKey(date, settings)) return capital(words.format(days, 'day'));
  }
  const isThisYear = Math.abs(now - date.getTime()) < 300 * 86_400_000;
  const options: Intl.DateTimeFormatOptions = { weekday: 'long', month: 'long', day: 'numeric' };
  return formatOf(isThisYear ? options : { ...options, year: 'numeric' }, settings).format(date);
}

/** `1.2 s`, `340 ms`, `2 min 5 s`: how long something took. */
export function durationText(ms: number): string {
  if (ms < 0) return '0 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const [hours, minutes, seconds] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1_000) % 60].map(Math.floor);
  if (hours! >= 24) return `${Math.floor(hours! / 24)} d ${hours! % 24} h`;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  return seconds ? `${minutes} min ${seconds} s` : `${minutes} min`;
}

/** From one moment to another, or to now. */
export function Duration({ from, to }: { from: string | number; to?: string | number | null | undefined }) {
  const now = useNow(to === null || to === undefined, 1_000);
  const end = to === null || to === undefined ? now : new Date(to).getTime();
  return <span className="troupe-number">{durationText(end - new Date(from).getTime())}</span>;
}

/** One clock for all that is shown: a list of a thousand times has one timer. */
export function useNow(moves: boolean, every = 15_000): number {
  const clock = useMemo(() => clockOf(every), [every]);
  return useSyncExternalStore(moves ? clock.subscribe : never, clock.now, clock.now);
}

const never = () => () => {};
const clocks = new Map<number, ReturnType<typeof makeClock>>();

function clockOf(every: number): ReturnType<typeof makeClock> {
  let found = clocks.get(every);
  if (!found) {
    found = makeClock(every);
    clocks.set(every, found);
  }
  return found;
}

function makeClock(every: number) {
  const listeners = new Set<() => void>();
  let now = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;
  const tick = () => {
    now = Date.now();
    for (const listener of listeners) listener();
  };
  return {
    now: () => {
      // What is shown for the first time after a while without readers must not be of back then.
      if (!timer && Date.now() - now >= every) now = Date.now();
      return now;
    },
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      timer ??= setInterval(tick, every);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}
