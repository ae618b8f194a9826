import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from './button.tsx';
import { Input } from './field.tsx';
import { Issue } from './form-errors.tsx';

type Pair = { key: number; name: string; value: string };
let nextKey = 1;

/** Names with values, such as headers: a row each. Rows without a name are ignored. */
export function Pairs({
  value,
  onChange,
  label,
  names = 'Name',
  values = 'Value',
  add,
  path,
}: {
  value: Record<string, string>;
  onChange: (value: Record<string, string>) => void;
  label: string;
  names?: string;
  values?: string;
  /** The label of the button. */
  add: string;
  /** The path at which the server reports issues of these values. */
  path: string;
}) {
  const [pairs, setPairs] = useState<Pair[]>(() =>
    Object.entries(value).map(([name, value]) => ({ key: nextKey++, name, value })),
  );
  const change = (next: Pair[]) => {
    setPairs(next);
    onChange(
      Object.fromEntries(
        next.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]),
      ),
    );
  };
  const set = (key: number, part: Partial<Pair>) =>
    change(pairs.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)));
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="mb-1 text-xs font-medium text-muted">{label}</legend>
      {pairs.map((pair, index) => (
        <div key={pair.key} className="flex min-w-0 items-center gap-1.5">
          <Input
            aria-label={`${names} ${index + 1}`}
            placeholder={names}
            value={pair.name}
            onChange={({ target }) => set(pair.key, { name: target.value })}
            className="max-w-48 basis-1/3 font-mono text-xs"
          />
          <Input
            aria-label={`${values} ${index + 1}`}
            placeholder={values}
            value={pair.value}
            onChange={({ target }) => set(pair.key, { value: target.value })}
            className="flex-1 font-mono text-xs"
          />
          <Button
            kind="quiet"
            size="small-icon"
            aria-label={`Remove ${pair.name || `row ${index + 1}`}`}
            icon={X}
            onClick={() => change(pairs.filter(({ key }) => key !== pair.key))}
          />
        </div>
      ))}
      <div>
        <Button
          size="small"
          kind="quiet"
          icon={Plus}
          onClick={() => setPairs([...pairs, { key: nextKey++, name: '', value: '' }])}
        >
          {add}
        </Button>
      </div>
      <Issue path={path} />
    </fieldset>
  );
}
