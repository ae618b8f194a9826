import { useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Dialog } from '../../../blocks/dialog.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { say } from '../../../blocks/toast.tsx';
import { messageOf } from '../../../data/issues.ts';
import { ChangesView } from '../diff/changes-view.tsx';
import { Conflict } from './conflict.tsx';
import type { Draft } from './use-draft.ts';
import type { useTrial } from './use-trial.ts';

/** What would be saved, and what the server says to it before it is. */
export default function SaveDialog({
  draft,
  checked: { trial },
  onClose,
}: {
  draft: Draft;
  checked: ReturnType<typeof useTrial>;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await draft.save();
      say('Saved the draft. Runs use what is published.');
      onClose();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open wide onClose={onClose} title="Save the draft">
      <div className="flex flex-col gap-4">
        {draft.theirs ? (
          <Conflict draft={draft} theirs={draft.theirs} />
        ) : (
          <>
            <ChangesView before={draft.base.definition} after={draft.definition} />
            {trial.refused ? (
              <Notice tone="bad">
                {trial.refused.message}
                <ul className="mt-1 list-disc pl-4">
                  {trial.refused.issues.map(({ path, message }) => (
                    <li key={path}>
                      <code className="font-mono text-xs">{path}</code> {message}
                    </li>
                  ))}
                </ul>
              </Notice>
            ) : (
              trial.problems.length > 0 && (
                <Notice tone="warn">
                  A draft may be unfinished: this one has {trial.problems.length}{' '}
                  {trial.problems.length === 1 ? 'problem' : 'problems'} that would keep it from being
                  published.
                </Notice>
              )
            )}
            {error !== null && <Notice tone="bad">{messageOf(error)}</Notice>}
          </>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Go on editing</Button>
          {!draft.theirs && (
            <Button kind="primary" busy={busy} disabled={!draft.isChanged} onClick={() => void save()}>
              Save draft
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
