import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { queryClient } from '../data/queries.ts';
import { Button } from './button.tsx';
import { cx } from './cx.ts';
import { Dialog } from './dialog.tsx';
import { FormError, FormErrors } from './form-errors.tsx';

interface FormProps<Result> {
  /** Sends the form. An error is shown beside its fields, or below them. */
  act: () => Promise<Result>;
  onDone?: ((result: Result) => unknown) | undefined;
  /** The label of the submit button. */
  submit: ReactNode;
  isDanger?: boolean;
  /** The form cannot be sent yet. */
  isIncomplete?: boolean;
  /** The first part of the query keys to refetch after `act`. */
  changes?: string;
  /** Buttons left of the submit button. */
  actions?: ReactNode;
  /** More about an error. */
  about?: (error: unknown) => ReactNode;
  children?: ReactNode;
}

/** A form: sent by Enter or its button, disabled while it is being sent, with the server's errors at their fields. */
export function Form<Result>({
  act,
  onDone,
  submit,
  isDanger = false,
  isIncomplete = false,
  changes,
  actions,
  about,
  children,
  label,
  className,
}: FormProps<Result> & { label?: string; className?: string }) {
  const form = useRef<HTMLFormElement>(null);
  const send = useMutation({
    mutationFn: async () => {
      try {
        return await act();
      } finally {
        if (changes) await queryClient.invalidateQueries({ queryKey: [changes] });
      }
    },
    onSuccess: (result) => void onDone?.(result),
  });
  const { error } = send;
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [error]);
  return (
    <FormErrors error={error}>
      <form
        ref={form}
        aria-label={label}
        className={cx('flex flex-col gap-4', className)}
        onSubmit={(event) => {
          event.preventDefault();
          // React passes events of a dialog on to the form that opened it.
          event.stopPropagation();
          if (!send.isPending && !isIncomplete) send.mutate();
        }}
      >
        {children}
        <FormError>{error ? about?.(error) : null}</FormError>
        <div className="flex flex-wrap justify-end gap-2">
          {actions}
          <Button
            type="submit"
            kind={isDanger ? 'danger' : 'primary'}
            busy={send.isPending}
            disabled={isIncomplete}
          >
            {submit}
          </Button>
        </div>
      </form>
    </FormErrors>
  );
}

/** A form in a dialog. It closes when `act` has succeeded, unless `onDone` says what comes next. */
export function FormDialog<Result>({
  open = true,
  title,
  wide,
  onClose,
  cancel = 'Cancel',
  onDone = onClose,
  ...form
}: Omit<FormProps<Result>, 'actions'> & {
  open?: boolean;
  title: ReactNode;
  wide?: boolean;
  onClose: () => void;
  cancel?: string;
}) {
  return (
    <Dialog open={open} onClose={onClose} title={title} wide={wide}>
      <Form {...form} onDone={onDone} actions={<Button onClick={onClose}>{cancel}</Button>} />
    </Dialog>
  );
}

/** Asks before an action that cannot be undone. */
export function Confirm({
  label,
  children,
  ...dialog
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  /** The label of the button: the action itself. */
  label: string;
  act: () => Promise<unknown>;
  changes?: string;
  children: ReactNode;
}) {
  return (
    <FormDialog {...dialog} submit={label} cancel="Keep" isDanger>
      <div className="text-sm text-muted">{children}</div>
    </FormDialog>
  );
}
