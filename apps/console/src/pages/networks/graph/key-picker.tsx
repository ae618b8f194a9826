import { X } from 'lucide-react';
import { SelectField } from '../../../blocks/field.tsx';
import { sameKey } from '../draft/definition.ts';

/** A list of keys: those that are there, each with its way out, and a choice of those that are not. */
export function KeyPicker({
  label,
  add,
  chosen,
  options,
  onAdd,
  onRemove,
  removeLabel,
}: {
  label: string;
  /** What the choice is called. */
  add: string;
  chosen: readonly string[];
  options: readonly string[];
  onAdd: (key: string) => void;
  onRemove: (key: string) => void;
  removeLabel: (key: string) => string;
}) {
  const left = options.filter((key) => !chosen.some((one) => sameKey(one, key)));
  return (
    <div className="flex flex-col gap-1">
      <p className="text-xs font-medium text-muted">{label}</p>
      {chosen.length > 0 && (
        <ul aria-label={label} className="flex flex-wrap gap-1">
          {chosen.map((key) => (
            <li
              key={key}
              className="inline-flex max-w-full items-center gap-1 rounded-sm bg-sunken py-0.5 pr-0.5 pl-2 font-mono text-xs"
            >
              <span className="truncate" title={key}>
                {key}
              </span>
              <button
                type="button"
                aria-label={removeLabel(key)}
                onClick={() => onRemove(key)}
                className="grid size-5 shrink-0 place-items-center rounded-sm text-faint hover:bg-hover hover:text-text"
              >
                <X size={12} aria-hidden="true" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <SelectField
        label={<span className="sr-only">{add}</span>}
        disabled={left.length === 0}
        value={'' as string}
        onChange={(value) => value && onAdd(value)}
        first={left.length === 0 ? 'Nothing left to add' : `${add}…`}
        options={left.map((key) => [key, key])}
      />
    </div>
  );
}
