import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** Two people saved: what the other has, and what saving one's own would make of it. */
export function Conflict({
  what,
  version,
  busy,
  children,
  onClose,
  onTakeTheirs,
  onSaveMine,
}: {
  what: string;
  /** The one that is there now. */
  version: number;
  busy: boolean;
  /** What saving would do to it. */
  children: ReactNode;
  onClose: () => void;
  onTakeTheirs: () => void;
  onSaveMine: () => void;
}) {
  return (
    <Dialog open onClose={onClose} title="Somebody else saved meanwhile" wide>
      <div className="flex flex-col gap-4">
        <p className="text-sm text-muted">
          The {what} is at version {version} now. This is what saving your changes would do to it; fields that
          you did not touch stay as they are there.
        </p>
        {children}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Keep editing</Button>
          <Button kind="danger" onClick={onTakeTheirs}>
            Drop my changes
          </Button>
          <Button kind="primary" busy={busy} onClick={onSaveMine}>
            Save mine on top
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
