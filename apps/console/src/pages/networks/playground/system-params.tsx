import { Field, Input } from '../../../blocks/field.tsx';

export interface SystemParam {
  name: string;
  isRequired: boolean;
}

/** What tools get from whoever runs the network. */
export function SystemParams({
  params,
  given,
  onChange,
  error,
}: {
  params: SystemParam[];
  given: Record<string, string>;
  onChange: (given: Record<string, string>) => void;
  error?: string | undefined;
}) {
  if (params.length === 0) return null;
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">System parameters, which no agent sees</legend>
      {params.map(({ name, isRequired }) => (
        <Field key={name} label={isRequired ? `${name} (required)` : name}>
          {(ids) => (
            <Input
              {...ids}
              autoComplete="off"
              value={given[name] ?? ''}
              onChange={({ target }) => onChange({ ...given, [name]: target.value })}
            />
          )}
        </Field>
      ))}
      {error && <p className="text-xs text-bad">{error}</p>}
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
