import { type ComponentProps, type ReactNode, useId } from 'react';
import { cx } from './cx.ts';

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

export function Checkbox({ label, className, ...rest }: ComponentProps<'input'> & { label: ReactNode }) {
  return (
    <label className={cx('inline-flex items-center gap-2 text-sm', className)}>
      <input type="checkbox" {...rest} className="size-4 accent-[var(--troupe-accent)]" />
      {label}
    </label>
  );
}

/** A label, its control and what to know about it; `children` gets the ids. */
export function Field({
  label,
  hint,
  error,
  children,
  className,
}: {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  children: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode;
  className?: string;
}) {
  const id = useId();
  const described = hint || error ? { 'aria-describedby': `${id}-about` } : {};
  return (
    <div className={cx('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      {children({ id, ...described, ...(error ? { 'aria-invalid': true as const } : {}) })}
      {(error || hint) && (
        <p id={`${id}-about`} className={cx('text-xs', error ? 'text-bad' : 'text-faint')}>
          {error || hint}
        </p>
      )}
    </div>
  );
}
