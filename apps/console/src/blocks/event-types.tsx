import { Select } from './field.tsx';

/** A filter by type of event (`run.completed`), or by how types begin (`run.`), grouped by noun. */
export function EventTypes({
  types,
  value,
  onChange,
  className,
}: {
  types: readonly string[];
  value: string;
  /** Empty: all. */
  onChange: (type: string) => void;
  className: string;
}) {
  const nouns = [...new Set(types.map((type) => `${type.split('.')[0]}.`))];
  const isKnown = value === '' || types.includes(value) || nouns.includes(value);
  return (
    <Select
      aria-label="Types of events"
      className={className}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">All types</option>
      {!isKnown && <option value={value}>{value}</option>}
      {nouns.map((noun) => (
        <optgroup key={noun} label={noun.slice(0, -1)}>
          <option value={noun}>{noun}*</option>
          {types
            .filter((type) => type.startsWith(noun))
            .map((type) => (
              <option key={type} value={type}>
                {type}
              </option>
            ))}
        </optgroup>
      ))}
    </Select>
  );
}
