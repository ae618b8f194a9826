import { Avatar } from '@troupe/ui';
import { type ReactNode, useState } from 'react';
import { Input } from '../../blocks/field.tsx';

/** Boxes to tick, with a search where there are many. */
export function ChooseMany({
  legend,
  type,
  options,
  chosen,
  onChange,
  empty,
  action,
}: {
  legend: string;
  type: 'human' | 'agent';
  options: { id: string; name: string; about?: string | null | undefined }[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
  empty: ReactNode;
  action?: ReactNode;
}) {
  const [wanted, setWanted] = useState('');
  const shown = options.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  const toggle = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    onChange(next);
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-1">
      <legend className="sr-only">{legend}</legend>
      <div className="flex items-center justify-between gap-2">
        <span aria-hidden="true" className="text-xs font-medium text-muted">
          {legend}
          {chosen.size > 0 && <span className="text-faint"> · {chosen.size}</span>}
        </span>
        {action}
      </div>
      {options.length > 8 && (
        <Input
          type="search"
          aria-label={`Find among ${legend.toLowerCase()}`}
          placeholder="Find"
          value={wanted}
          onChange={({ target }) => setWanted(target.value)}
        />
      )}
      <div className="max-h-44 overflow-y-auto rounded-md border border-line">
        {options.length === 0 && <p className="px-2.5 py-2 text-sm text-muted">{empty}</p>}
        {shown.map(({ id, name, about }) => (
          <label
            key={id}
            className="flex cursor-pointer items-center gap-2.5 border-b border-line px-2.5 py-1.5 last:border-0 hover:bg-hover"
          >
            <input
              type="checkbox"
              className="size-4 shrink-0 accent-[var(--troupe-accent)]"
              checked={chosen.has(id)}
              onChange={({ target }) => toggle(id, target.checked)}
            />
            <Avatar name={name} id={id} type={type} size="small" />
            <span className="min-w-0 truncate text-sm" title={name}>
              {name}
              {about && <span className="text-faint"> {about}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
