import { Button } from '../../../blocks/button.tsx';
import { Dialog } from '../../../blocks/dialog.tsx';
import { Form } from '../../../blocks/form.tsx';
import { IssueList } from '../../../blocks/form-errors.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { say } from '../../../blocks/toast.tsx';
import { ChangesView } from '../diff/changes-view.tsx';
import { Conflict } from './conflict.tsx';
import type { Draft } from './use-draft.ts';
import type { useTrial } from './use-trial.ts';

/** Shows the changes and the server's verdict before the draft is saved. */
export default function SaveDialog({
  draft,
  checked: { trial },
  onClose,
}: {
  draft: Draft;
  checked: ReturnType<typeof useTrial>;
  onClose: () => void;
}) {
  return (
    <Dialog open wide onClose={onClose} title="Save draft">
      {draft.theirs ? (
        <Conflict draft={draft} theirs={draft.theirs} />
      ) : (
        <Form
          submit="Save draft"
          isIncomplete={!draft.isChanged}
          actions={<Button onClick={onClose}>Cancel</Button>}
          act={draft.save}
          onDone={() => {
            say('Saved the draft. Runs use the published version.');
            onClose();
          }}
        >
          <ChangesView before={draft.base.definition} after={draft.definition} />
          {trial.refused ? (
            <Notice tone="bad">
              {trial.refused.message}
              <IssueList issues={trial.refused.issues} />
            </Notice>
          ) : (
            trial.problems.length > 0 && (
              <Notice tone="warn">
                {trial.problems.length} {trial.problems.length === 1 ? 'problem' : 'problems'} to solve before
                publishing. A draft can be saved with problems.
              </Notice>
            )
          )}
        </Form>
      )}
    </Dialog>
  );
}
