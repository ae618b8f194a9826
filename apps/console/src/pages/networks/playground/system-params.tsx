import { TextField } from '../../../blocks/field.tsx';
import { Issue } from '../../../blocks/form-errors.tsx';

export interface SystemParam {
  name: string;
  isRequired: boolean;
}

/** Values that the caller of a network passes to its tools. */
export function SystemParams({
  params,
  given,
  onChange,
}: {
  params: SystemParam[];
  given: Record<string, string>;
  onChange: (given: Record<string, string>) => void;
}) {
  if (params.length === 0) return null;
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">System parameters (hidden from agents)</legend>
      {params.map(({ name, isRequired }) => (
        <TextField
          key={name}
          label={isRequired ? `${name} (required)` : name}
          autoComplete="off"
          value={given[name] ?? ''}
          onChange={(value) => onChange({ ...given, [name]: value })}
        />
      ))}
      <Issue path="systemParams" />
    </fieldset>
  );
}

/** What was given of those that there are. A text, unless it is a number, a truth or JSON. */
export function valuesOf(params: SystemParam[], given: Record<string, string>): Record<string, never> {
  const values = params.flatMap(({ name }): [string, unknown][] => {
    const text = given[name]?.trim() ?? '';
    return text === '' ? [] : [[name, written(text)]];
  });
  return Object.fromEntries(values) as Record<string, never>;
}

function written(text: string): unknown {
  if (!/^(?:[[{]|true$|false$|null$|-?\d+(?:\.\d+)?$)/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
