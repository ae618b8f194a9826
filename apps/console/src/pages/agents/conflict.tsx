import type { Api } from '@troupe/sdk';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { TextDiff } from '../../blocks/text-diff.tsx';
import { definitionOf, restAsText } from './definition.ts';

/** Two people saved: what the other has, and what saving one's own would make of it. */
export function Conflict({
  theirs,
  mine,
  busy,
  onClose,
  onTakeTheirs,
  onSaveMine,
}: {
  theirs: Api.Agent;
  /** Their version with the fields that I changed. */
  mine: Api.AgentDefinition;
  busy: boolean;
  onClose: () => void;
  onTakeTheirs: () => void;
  onSaveMine: () => void;
}) {
  const there = definitionOf(theirs);
  return (
    <Dialog open onClose={onClose} title="Somebody else saved meanwhile" wide>
      <div className="flex flex-col gap-4">
        <p className="text-sm text-muted">
          The agent is at version {theirs.version} now. This is what saving your changes would do to it;
          fields that you did not touch stay as they are there.
        </p>
        {there.systemPrompt !== mine.systemPrompt && (
          <TextDiff before={there.systemPrompt} after={mine.systemPrompt} label="Your change of the prompt" />
        )}
        {restAsText(there) !== restAsText(mine) && (
          <TextDiff before={restAsText(there)} after={restAsText(mine)} label="Your change of the rest" />
        )}
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
