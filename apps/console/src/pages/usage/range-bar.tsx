import { Select } from '../../blocks/field.tsx';
import { MomentInput } from '../../blocks/moment-input.tsx';
import { fits, type RangeName, ranges, type UsageSearch, windowOf } from './range.ts';

type Change = (change: { [Name in keyof UsageSearch]?: UsageSearch[Name] | undefined }) => void;

export function RangeBar({ search, onChange }: { search: UsageSearch; onChange: Change }) {
  const isOwn = search.from !== undefined || search.to !== undefined;
  const { from, to, interval } = windowOf(search);
  const span = Date.parse(to) - Date.parse(from);
  return (
    <search aria-label="Time" className="flex flex-wrap items-center gap-2">
      <Select
        aria-label="Range"
        className="w-auto"
        value={isOwn ? 'own' : (search.range ?? '24h')}
        onChange={({ target: { value } }) =>
          onChange(
            value === 'own'
              ? { range: undefined, from, to, interval: undefined }
              : {
                  range: value === '24h' ? undefined : (value as RangeName),
                  from: undefined,
                  to: undefined,
                  interval: undefined,
                },
          )
        }
      >
        {Object.entries(ranges).map(([name, { label }]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
        <option value="own">Between…</option>
      </Select>
      {isOwn && (
        <>
          <MomentInput label="From" value={from} onChange={(time) => time && onChange({ from: time })} />
          <MomentInput label="To" value={to} onChange={(time) => time && onChange({ to: time })} />
        </>
      )}
      <Select
        aria-label="Interval"
        className="w-auto"
        value={interval}
        onChange={({ target: { value } }) => onChange({ interval: value as 'minute' | 'hour' | 'day' })}
      >
        {(['minute', 'hour', 'day'] as const).map((each) => (
          <option key={each} value={each} disabled={!fits(each, span)}>
            By {each}
          </option>
        ))}
      </Select>
    </search>
  );
}
