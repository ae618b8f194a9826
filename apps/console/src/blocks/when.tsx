import { Time } from '@troupe/ui';
import { useSettings } from '../data/settings.ts';

/** A time in the zone that the reader chose: how long ago or ahead, all of it on hover; or (`exact`) to the minute. */
export function When({ value, exact = false }: { value: string | null; exact?: boolean }) {
  const { timeZone } = useSettings();
  if (!exact || value === null) return <Time value={value} className="whitespace-nowrap" />;
  return (
    <time dateTime={value} className="whitespace-nowrap">
      {exactFormat(timeZone).format(new Date(value))}
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
