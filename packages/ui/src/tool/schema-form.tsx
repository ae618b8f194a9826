import { type ReactNode, useId, useMemo, useState } from 'react';
import { type Field, fieldOf, initialOf, labelOf, NotYetJson, problemsOf, resultOf } from './schema.ts';

export interface SchemaFormProps {
  /** JSON Schema of what is asked for; null: any JSON. */
  schema: { [key: string]: unknown } | null | undefined;
  /** What it begins with. */
  value?: unknown;
  onSubmit: (value: unknown) => void;
  submitLabel?: string | undefined;
  /** Shows a second button that settles without an answer. */
  onReject?: (() => void) | undefined;
  rejectLabel?: string | undefined;
  isBusy?: boolean | undefined;
  /** What the server said about the last try. */
  problem?: string | null | undefined;
  children?: ReactNode;
}

/** A form made of a schema. */
export function SchemaForm(props: SchemaFormProps) {
  const {
    schema,
    onSubmit,
    submitLabel = 'Submit',
    onReject,
    rejectLabel = 'Decline',
    isBusy,
    problem,
  } = props;
  const field = useMemo(() => fieldOf(schema), [schema]);
  const [value, setValue] = useState(() => initialOf(field, props.value));
  const [isTried, setTried] = useState(false);
  const problems = problemsOf(field, value);
  return (
    <form
      className="troupe-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (problems.size === 0 && !isBusy) onSubmit(resultOf(field, value));
      }}
    >
      <FieldInput
        field={field}
        name="Answer"
        path=""
        value={value}
        onChange={setValue}
        problems={isTried ? problems : new Map()}
      />
      {problem && (
        <p className="troupe-problem" role="alert">
          {problem}
        </p>
      )}
      {props.children}
      <div className="troupe-form-buttons">
        <button
          type="submit"
          className="troupe-button troupe-button-main"
          aria-disabled={isBusy || undefined}
        >
          {isBusy ? 'Sending…' : submitLabel}
        </button>
        {onReject && (
          <button type="button" className="troupe-button" disabled={isBusy} onClick={onReject}>
            {rejectLabel}
          </button>
        )}
      </div>
    </form>
  );
}

interface InputProps {
  field: Field;
  name: string;
  path: string;
  value: unknown;
  onChange: (value: unknown) => void;
  problems: ReadonlyMap<string, string>;
}

function FieldInput(props: InputProps) {
  const { field, name, path, value, onChange, problems } = props;
  const id = useId();
  const label = field.title ?? name;
  const problem = problems.get(path);
  if (field.kind === 'const') return null;
  if (field.kind === 'object') {
    const known = (value ?? {}) as Record<string, unknown>;
    const inner = field.fields.map((one) => (
      <FieldInput
        key={one.name}
        field={one}
        name={one.name}
        path={`${path}/${one.name}`}
        value={known[one.name]}
        onChange={(next) => onChange({ ...known, [one.name]: next })}
        problems={problems}
      />
    ));
    if (path === '') return <>{inner}</>;
    return (
      <fieldset className="troupe-fieldset">
        <legend>{label}</legend>
        {inner}
      </fieldset>
    );
  }
  const notes = [field.description && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(' ');
  const described = {
    id,
    'aria-invalid': problem ? true : undefined,
    'aria-describedby': notes || undefined,
    'aria-required': field.isRequired || undefined,
  };
  const about = (
    <>
      {field.description && (
        <p id={`${id}-about`} className="troupe-field-about">
          {field.description}
        </p>
      )}
      {problem && (
        <p id={`${id}-problem`} className="troupe-field-problem">
          {problem}
        </p>
      )}
    </>
  );
  if (field.kind === 'boolean') {
    return (
      <div className="troupe-field">
        <label className="troupe-check">
          <input
            {...described}
            type="checkbox"
            checked={value === true}
            onChange={(event) => onChange(event.target.checked)}
          />
          <span>{label}</span>
        </label>
        {about}
      </div>
    );
  }
  if (field.kind === 'choices' || (field.kind === 'choice' && field.options.length <= 5)) {
    return <Options {...props} label={label} about={about} />;
  }
  return (
    <div className="troupe-field">
      <label className="troupe-label" htmlFor={id}>
        {label}
        {!field.isRequired && <span className="troupe-optional"> optional</span>}
      </label>
      <Input {...props} described={described} />
      {about}
    </div>
  );
}

type Described = { id: string };

function Input({ field, value, onChange, described }: InputProps & { described: Described }) {
  if (field.kind === 'choice') {
    const chosen = field.options.findIndex((option) => same(option.value, value));
    return (
      <select
        {...described}
        className="troupe-input"
        value={chosen < 0 ? '' : chosen}
        onChange={(event) => {
          onChange(event.target.value === '' ? undefined : field.options[Number(event.target.value)]?.value);
        }}
      >
        <option value="">Choose…</option>
        {field.options.map((option, index) => (
          <option key={labelOf(option.value)} value={index}>
            {option.label}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === 'number' || field.kind === 'integer') {
    return (
      <input
        {...described}
        className="troupe-input"
        type="text"
        inputMode={field.kind === 'integer' ? 'numeric' : 'decimal'}
        defaultValue={value === undefined ? '' : String(value)}
        onChange={(event) => {
          const given = event.target.value.trim();
          onChange(given === '' ? undefined : Number(given.replace(',', '.')));
        }}
      />
    );
  }
  if (field.kind === 'json') {
    const shown =
      value instanceof NotYetJson ? value.text : value === undefined ? '' : JSON.stringify(value, null, 2);
    return (
      <textarea
        {...described}
        className="troupe-input troupe-input-json"
        rows={Math.min(12, Math.max(3, shown.split('\n').length))}
        spellCheck={false}
        placeholder="JSON, or plain text"
        defaultValue={shown}
        onChange={(event) => onChange(readJson(event.target.value))}
      />
    );
  }
  const shown = typeof value === 'string' ? value : '';
  if (field.kind === 'long') {
    return (
      <textarea
        {...described}
        className="troupe-input"
        rows={2}
        value={shown}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  const type = field.format === 'email' ? 'email' : field.format === 'date' ? 'date' : 'text';
  return (
    <input
      {...described}
      className="troupe-input"
      type={type}
      value={shown}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** What looks like JSON must be JSON; anything else is meant as a text. */
export function readJson(text: string): unknown {
  const given = text.trim();
  if (given === '') return undefined;
  try {
    return JSON.parse(given);
  } catch (error) {
    if (!/^[[{"]/.test(given)) return given;
    return new NotYetJson(text, `Is not JSON yet: ${(error as Error).message}`);
  }
}

function Options({ field, value, onChange, label, about }: InputProps & { label: string; about: ReactNode }) {
  const name = useId();
  const many = field.kind === 'choices';
  const chosen = many && Array.isArray(value) ? value : [];
  return (
    <fieldset className="troupe-field troupe-options">
      <legend className="troupe-label">
        {label}
        {!field.isRequired && <span className="troupe-optional"> optional</span>}
      </legend>
      {field.options.map((option) => {
        const isChosen = many ? chosen.some((one) => same(one, option.value)) : same(option.value, value);
        return (
          <label key={labelOf(option.value)} className="troupe-check">
            <input
              type={many ? 'checkbox' : 'radio'}
              name={name}
              checked={isChosen}
              onChange={() => {
                if (!many) onChange(option.value);
                else
                  onChange(
                    isChosen ? chosen.filter((one) => !same(one, option.value)) : [...chosen, option.value],
                  );
              }}
            />
            <span>{option.label}</span>
          </label>
        );
      })}
      {about}
    </fieldset>
  );
}

function same(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
