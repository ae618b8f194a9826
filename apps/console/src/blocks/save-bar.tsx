import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { cx } from './cx.ts';
import { FormError } from './form-errors.tsx';

/** Saves or discards the changes of a long form. It stays at the lower edge of the page. */
export function SaveBar({
  submit = 'Save',
  discard = 'Discard',
  busy,
  isIncomplete = false,
  onDiscard,
  className = 'bottom-2',
  children,
}: {
  submit?: string;
  discard?: string;
  busy: boolean;
  /** The form cannot be saved yet. */
  isIncomplete?: boolean;
  onDiscard: () => void;
  /** How far it is from the edge. */
  className?: string;
  /** Stands left of the buttons. */
  children?: ReactNode;
}) {
  return (
    <div
      className={cx(
        'sticky z-10 flex flex-col gap-2 rounded-lg border border-line bg-raised p-3 shadow-high',
        className,
      )}
    >
      <FormError />
      <div className="flex flex-wrap items-center justify-end gap-2">
        {children}
        <Button onClick={onDiscard}>{discard}</Button>
        <Button type="submit" kind="primary" busy={busy} disabled={isIncomplete}>
          {submit}
        </Button>
      </div>
    </div>
  );
}
