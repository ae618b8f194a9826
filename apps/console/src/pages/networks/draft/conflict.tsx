import { Button } from '../../../blocks/button.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { ChangesView } from '../diff/changes-view.tsx';
import type { Draft } from './use-draft.ts';

/** Somebody else saved while this was edited: what they did, and what to do about it. */
export function Conflict({ draft, theirs }: { draft: Draft; theirs: NonNullable<Draft['theirs']> }) {
  return (
    <div className="flex flex-col gap-3">
      <Notice tone="warn">
        Somebody else changed this network since you began. Nothing of yours is lost, and nothing of theirs is
        overwritten, until you choose.
      </Notice>
      <p className="text-sm font-medium">What they changed</p>
      <ChangesView before={draft.base.definition} after={theirs.definition} />
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" onClick={draft.mergeTheirs}>
          Put mine on top of theirs
        </Button>
        <Button kind="danger" onClick={draft.takeTheirs}>
          Take theirs, drop mine
        </Button>
      </div>
      <p className="text-xs text-muted">
        Where both changed the same field, yours is taken. You see what came of it before you save, and undo
        brings back what you had.
      </p>
    </div>
  );
}
