import { useMemo } from 'react';
import { useSettings } from '../data/settings.ts';

/** A time in the zone that the reader chose: how long ago or ahead, all of it on hover; or (`exact`) all of it at once. */
export function When({ value, exact = false }: { value: string | null; exact?: boolean }) {
  const { timeZone } = useSettings();
  const format = useMemo(() => exactFormat(timeZone), [timeZone]);
  if (value === null) return <span className="text-faint">–</span>;
  const whole = format.format(new Date(value));
  return (
    <time dateTime={value} title={whole} className="whitespace-nowrap">
      {exact ? whole : relative(Date.parse(value) - Date.now())}
    </time>
  );
}

export function exactFormat(timeZone: string | null): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    ...(timeZone ? { timeZone } : {}),
  });
}

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const units = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

function relative(distance: number): string {
  for (const [unit, size] of units)
    if (Math.abs(distance) >= size) return words.format(Math.trunc(distance / size), unit);
  return distance > 0 ? 'in a moment' : 'just now';
}
