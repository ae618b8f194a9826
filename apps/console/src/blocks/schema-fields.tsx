import { Checkbox, SelectField, TextAreaField, TextField } from './field.tsx';
import { Issue } from './form-errors.tsx';
import { JsonField } from './json-field.tsx';

type Schema = { [key: string]: unknown };
type Values = Record<string, unknown>;

/** Fields for the properties of a JSON Schema. What is simple has a field of its kind; the rest is written as JSON. */
export function SchemaFields({
  schema,
  value,
  onChange,
  path,
  isSpelled = false,
}: {
  schema: Schema;
  value: Values;
  /** Properties that are left empty are absent. */
  onChange: (value: Values, invalid: string[]) => void;
  /** The path at which the server reports issues of the properties. */
  path?: string;
  /** Names as words for people (`mostInPrompt`: Most in prompt) rather than as programs have them. */
  isSpelled?: boolean;
}) {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const required = new Set((schema.required ?? []) as string[]);
  const set = (name: string, next: unknown, isValid = true) => {
    const { [name]: _, ...others } = value;
    onChange(next === undefined ? others : { ...others, [name]: next }, isValid ? [] : [name]);
  };
  return (
    <>
      {Object.entries(properties).map(([name, property]) => (
        <OneField
          key={name}
          name={isSpelled ? spelled(name) : name}
          schema={property}
          isRequired={required.has(name)}
          value={value[name]}
          path={path === undefined ? undefined : `${path}.${name}`}
          onChange={(next, isValid) => set(name, next, isValid)}
        />
      ))}
    </>
  );
}

function OneField({
  name,
  schema,
  isRequired,
  value,
  path,
  onChange,
}: {
  name: string;
  schema: Schema;
  isRequired: boolean;
  value: unknown;
  path: string | undefined;
  onChange: (value: unknown, isValid?: boolean) => void;
}) {
  const kind = kindOf(schema);
  const label = isRequired ? `${name} *` : name;
  const hint = [schema.description, rangeOf(schema)].filter(Boolean).join(' ') || undefined;
  const standard = schema.default === undefined ? undefined : String(schema.default);
  if (kind === 'boolean')
    return (
      <div className="flex flex-col gap-1">
        <Checkbox label={name} checked={(value ?? schema.default ?? false) === true} onChange={onChange} />
        {hint && <p className="text-xs text-faint">{hint}</p>}
        {path && <Issue path={path} />}
      </div>
    );
  if (kind === 'json')
    return (
      <JsonField
        label={label}
        hint={hint ?? 'As JSON.'}
        path={path}
        value={value}
        empty={null}
        rows={2}
        onChange={(next, isValid) =>
          onChange(next === null && !allowsNull(schema) ? undefined : next, isValid)
        }
      />
    );
  const field = { label, hint, path };
  const set = (text: string) => onChange(text === '' ? undefined : text);
  if (kind === 'choice')
    return (
      <SelectField
        {...field}
        first={standard === undefined ? 'Not set' : `Not set (${standard})`}
        value={value === undefined ? '' : JSON.stringify(value)}
        onChange={(next) => onChange(next === '' ? undefined : JSON.parse(next))}
        options={(schema.enum as unknown[]).map((option) => [JSON.stringify(option), String(option)])}
      />
    );
  if (kind === 'number')
    return (
      <TextField
        {...field}
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        placeholder={standard}
        value={value === undefined ? '' : String(value)}
        onChange={(next) => onChange(next === '' ? undefined : Number(next))}
      />
    );
  const text = typeof value === 'string' ? value : '';
  if (kind === 'long') return <TextAreaField {...field} rows={3} value={text} onChange={set} />;
  return <TextField {...field} placeholder={standard} value={text} onChange={set} />;
}

function spelled(name: string): string {
  const words = name.replaceAll(
    /([a-z])([A-Z])/g,
    (_, end: string, start: string) => `${end} ${start.toLowerCase()}`,
  );
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(/ ms$/, ' (ms)');
}

function kindOf(schema: Schema): 'boolean' | 'choice' | 'number' | 'text' | 'long' | 'json' {
  if (Array.isArray(schema.enum)) return 'choice';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.type === 'number' || schema.type === 'integer') return 'number';
  if (schema.type === 'string') return Number(schema.maxLength ?? 0) > 1_000 ? 'long' : 'text';
  return 'json';
}

function allowsNull({ type }: Schema): boolean {
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}

function rangeOf({ minimum, maximum }: Schema): string | undefined {
  const isTold = (bound: unknown) => typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  if (isTold(minimum) && isTold(maximum)) return `From ${minimum} to ${maximum}.`;
  if (isTold(minimum)) return `${minimum} at least.`;
  if (isTold(maximum)) return `${maximum} at most.`;
  return undefined;
}
