import { useSettings } from '../data/settings.ts';
import { momentOf, wallTime, zoneOf } from '../data/zoned.ts';
import { Input } from './field.tsx';

/** A moment of a filter, on the clock of the zone that the reader chose. */
export function MomentInput({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  /** Undefined: it was emptied. */
  onChange: (time: string | undefined) => void;
}) {
  const { timeZone } = useSettings();
  const zone = zoneOf(timeZone);
  return (
    <Input
      type="datetime-local"
      aria-label={label}
      title={`${label}, in ${zone}`}
      className="w-auto"
      value={value ? wallTime(value, zone) : ''}
      onChange={({ target }) => onChange(momentOf(target.value, zone)?.time)}
    />
  );
}
