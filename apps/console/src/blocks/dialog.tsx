import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { Button } from './button.tsx';
import { cx } from './cx.ts';

export function Dialog({
  open,
  onClose,
  title,
  children,
  wide = false,
}: {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  children: ReactNode;
  wide?: boolean | undefined;
}) {
  const body = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_10_20/45%)] transition-opacity data-[ending-style]:opacity-0 data-[starting-style]:opacity-0" />
        <Base.Popup
          // The first field of a form has the focus, not the button that closes the dialog.
          initialFocus={() => body.current?.querySelector<HTMLElement>('input, textarea, select') ?? true}
          className={cx(
            'fixed top-[8vh] left-1/2 z-50 flex max-h-[84vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col overflow-hidden rounded-lg border border-line bg-raised shadow-high transition data-[ending-style]:opacity-0 data-[starting-style]:translate-y-2 data-[starting-style]:opacity-0',
            wide ? 'max-w-4xl' : 'max-w-lg',
          )}
        >
          <header className="flex items-center gap-2 border-b border-line px-4 py-3">
            <Base.Title className="min-w-0 flex-1 truncate font-semibold">{title}</Base.Title>
            <Base.Close render={<Button kind="quiet" size="small-icon" aria-label="Close" icon={X} />} />
          </header>
          <div ref={body} className="min-h-0 overflow-y-auto p-4">
            {children}
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
