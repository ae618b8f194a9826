import { type ComponentProps, type ReactNode, useId } from 'react';
import { cx } from './cx.ts';
import { useIssue } from './form-errors.tsx';

const look =
  'min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-sm text-text placeholder:text-faint focus-visible:border-accent disabled:opacity-60 aria-invalid:border-bad';

/** As wide as there is room, unless it is said how wide. */
const control = (className: string | undefined) =>
  /(^|\s)w-/.test(className ?? '') ? look : `w-full ${look}`;

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return <input {...rest} className={cx(control(className), 'h-8', className)} />;
}

export function TextArea({ className, ...rest }: ComponentProps<'textarea'>) {
  return (
    <textarea rows={4} {...rest} className={cx(control(className), 'py-2 leading-relaxed', className)} />
  );
}

export function Select({ className, children, ...rest }: ComponentProps<'select'>) {
  return (
    <select {...rest} className={cx(control(className), 'h-8 pr-7', className)}>
      {children}
    </select>
  );
}

export function Checkbox({
  label,
  className,
  onChange,
  ...rest
}: Omit<ComponentProps<'input'>, 'onChange'> & { label: ReactNode; onChange: (isChecked: boolean) => void }) {
  return (
    <label className={cx('inline-flex items-center gap-2 text-sm', className)}>
      <input
        type="checkbox"
        {...rest}
        onChange={({ target }) => onChange(target.checked)}
        className="size-4 accent-[var(--troupe-accent)]"
      />
      {label}
    </label>
  );
}

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  /** The path in the request body at which the server reports issues of this field. */
  path?: string | undefined;
  className?: string | undefined;
}

interface ControlIds {
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
}

/** A label, its control and a hint or an error below; `children` gets the ids that connect them. */
export function Field({
  label,
  hint,
  error,
  path,
  className,
  children,
}: FieldProps & { children: (ids: ControlIds) => ReactNode }) {
  const id = useId();
  const issue = useIssue(path);
  const wrong = error || issue;
  const described = hint || wrong ? { 'aria-describedby': `${id}-about` } : {};
  return (
    <div className={cx('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      {children({ id, ...described, ...(wrong ? { 'aria-invalid': true as const } : {}) })}
      {(wrong || hint) && (
        <p id={`${id}-about`} className={cx('text-xs', wrong ? 'text-bad' : 'text-faint')}>
          {wrong || hint}
        </p>
      )}
    </div>
  );
}

type Control<Tag extends 'input' | 'textarea'> = FieldProps &
  Omit<ComponentProps<Tag>, keyof FieldProps | 'id' | 'list' | 'value' | 'onChange'> & {
    value: string | number;
    onChange: (value: string) => void;
    /** In the font of code. */
    mono?: boolean;
  };

/** The props of the field, and those of its control. */
function split<Props extends FieldProps>({ label, hint, error, path, className, ...rest }: Props) {
  return [{ label, hint, error, path, className }, rest] as const;
}

const monospace = (mono: boolean | undefined) => (mono ? 'font-mono text-xs' : undefined);

/** One line of text, or a number or a password (`type`). `suggestions` are offered while one types, with descriptions if they have any. */
export function TextField({
  mono,
  onChange,
  suggestions,
  ...props
}: Control<'input'> & { suggestions?: readonly (string | readonly [value: string, about: string])[] }) {
  const [field, rest] = split(props);
  return (
    <Field {...field}>
      {(ids) => (
        <>
          <Input
            {...ids}
            {...rest}
            {...(suggestions ? { list: `${ids.id}-list` } : {})}
            onChange={({ target }) => onChange(target.value)}
            className={monospace(mono)}
          />
          {suggestions && (
            <datalist id={`${ids.id}-list`}>
              {suggestions.map((one) => {
                const [value, about] = typeof one === 'string' ? [one] : one;
                return (
                  <option key={value} value={value}>
                    {about}
                  </option>
                );
              })}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

/** Text of several lines. Ctrl+Enter or ⌘+Enter submits its form. */
export function TextAreaField({ mono, onChange, ...props }: Control<'textarea'>) {
  const [field, rest] = split(props);
  return (
    <Field {...field}>
      {(ids) => (
        <TextArea
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey))
              event.currentTarget.form?.requestSubmit();
          }}
          {...ids}
          {...rest}
          onChange={({ target }) => onChange(target.value)}
          className={monospace(mono)}
        />
      )}
    </Field>
  );
}

/** Values with what they are called. */
export type Options<Value extends string> = readonly (readonly [value: Value, label: ReactNode])[];

/** The entries of a record, as options. */
export const optionsOf = <Value extends string>(labels: Record<Value, string>): Options<Value> =>
  Object.entries(labels) as [Value, string][];

/** The options of a select. A value that is not among them, such as one that was deleted, is offered as it is. */
function OptionList({ options, value }: { options: Options<string>; value: string | undefined }) {
  const isKnown = !value || options.some(([one]) => one === value);
  return (
    <>
      {!isKnown && <option value={value}>{value}</option>}
      {options.map(([one, label]) => (
        <option key={one} value={one}>
          {label}
        </option>
      ))}
    </>
  );
}

/** One of a few values; `first` names the choice of none, which is empty. */
export function SelectField<Value extends string>({
  options,
  first,
  value,
  onChange,
  required,
  disabled,
  ...field
}: FieldProps & {
  options: Options<NoInfer<Value>>;
  first?: string;
  value: Value;
  onChange: (value: NoInfer<Value>) => void;
  required?: boolean;
  disabled?: boolean;
}) {
  return (
    <Field {...field}>
      {(ids) => (
        <Select
          {...ids}
          required={required}
          disabled={disabled}
          value={value}
          onChange={({ target }) => onChange(target.value as Value)}
        >
          {first !== undefined && <option value="">{first}</option>}
          <OptionList options={options} value={value} />
        </Select>
      )}
    </Field>
  );
}

/** A filter above a list: one of a few values, or all of them (`undefined`). */
export function FilterSelect<Value extends string>({
  label,
  all,
  options,
  value,
  onChange,
  className = 'max-w-40',
}: {
  label: string;
  /** What no filter is called. */
  all: string;
  options: Options<NoInfer<Value>>;
  value: Value | undefined;
  onChange: (value: NoInfer<Value> | undefined) => void;
  className?: string;
}) {
  return (
    <Select
      aria-label={label}
      className={className}
      value={value ?? ''}
      onChange={({ target }) => onChange((target.value || undefined) as Value | undefined)}
    >
      <option value="">{all}</option>
      <OptionList options={options} value={value} />
    </Select>
  );
}
