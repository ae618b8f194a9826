import { type LucideIcon, Plus } from 'lucide-react';
import type { ComponentProps } from 'react';
import { cx } from './cx.ts';
import { Icon, type IconSource } from './icon.tsx';

const kinds = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent shadow-low',
  plain: 'bg-surface text-text hover:bg-hover border-line-strong shadow-low',
  quiet: 'bg-transparent text-muted hover:text-text hover:bg-hover border-transparent',
  danger: 'bg-surface text-bad hover:bg-bad-soft border-line-strong shadow-low',
};
const sizes = {
  small: 'h-7 px-2 text-xs gap-1',
  normal: 'h-8 px-3 text-sm gap-1.5',
  icon: 'h-8 w-8 justify-center',
  'small-icon': 'h-7 w-7 justify-center',
};

interface ButtonProps extends ComponentProps<'button'> {
  kind?: keyof typeof kinds;
  size?: keyof typeof sizes;
  busy?: boolean;
  icon?: IconSource | undefined;
}

export const buttonClass = (kind: keyof typeof kinds = 'plain', size: keyof typeof sizes = 'normal') =>
  cx(
    'inline-flex shrink-0 items-center justify-center rounded-md border font-medium whitespace-nowrap select-none transition-colors disabled:opacity-50 disabled:pointer-events-none',
    kinds[kind],
    sizes[size],
  );

export function Button({ kind, size, busy, icon, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={cx(buttonClass(kind, size), className)}
    >
      {busy ? <Spinner /> : icon && <Icon of={icon} size={size === 'icon' ? 16 : 14} />}
      {children}
    </button>
  );
}

/** The button that opens the form for a new item. */
export function AddButton(props: ButtonProps) {
  return <Button kind="primary" icon={Plus} {...props} />;
}

/** A button that is an icon only; `label` says what it does. */
export function IconButton({
  label,
  ...rest
}: Omit<ButtonProps, 'icon' | 'aria-label'> & { label: string; icon: LucideIcon }) {
  return <Button kind="quiet" size="small-icon" {...rest} aria-label={label} />;
}

export function Spinner({ className }: { className?: string }) {
  return (
    <span
      aria-hidden="true"
      className={cx(
        'inline-block size-3.5 shrink-0 animate-spin rounded-full border-2 border-current border-r-transparent opacity-70',
        className,
      )}
    />
  );
}
