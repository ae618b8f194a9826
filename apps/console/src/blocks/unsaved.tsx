import { useBlocker } from '@tanstack/react-router';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/**
 * Asks before a page is left whose changes are not saved. A change of the address within the page asks nothing, unless the form goes with it, such
 * as one in a tab: `within`.
 */
export function Unsaved({ when, within = false }: { when: boolean; within?: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => when && (within || current.pathname !== next.pathname),
    enableBeforeUnload: () => when,
    withResolver: true,
  });
  return (
    <Dialog open={status === 'blocked'} onClose={() => reset?.()} title="Leave without saving?">
      <div className="flex flex-col gap-4">
        <p className="text-sm text-muted">What you changed here is not saved.</p>
        <div className="flex justify-end gap-2">
          <Button onClick={() => reset?.()}>Stay</Button>
          <Button kind="danger" onClick={() => proceed?.()}>
            Leave
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
