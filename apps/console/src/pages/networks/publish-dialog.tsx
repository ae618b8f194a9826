import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { TextField } from '../../blocks/field.tsx';
import { Form } from '../../blocks/form.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';
import { borrowedIn } from './diff/borrowed.ts';
import { BorrowedView, ChangesView } from './diff/changes-view.tsx';
import { Conflict } from './draft/conflict.tsx';
import { type Definition, withoutLayout } from './draft/definition.ts';
import type { Draft } from './draft/use-draft.ts';
import type { useTrial } from './draft/use-trial.ts';
import { ProblemList } from './graph/problem-list.tsx';
import type { GoTo } from './network.tsx';
import { versionQuery } from './versions.ts';

/** What would run from now on, beside what runs now. */
export default function PublishDialog({
  network,
  draft,
  checked: { trial, isCurrent },
  go,
  onClose,
}: {
  network: Api.Network;
  draft: Draft;
  checked: ReturnType<typeof useTrial>;
  go: GoTo;
  onClose: () => void;
}) {
  const [notes, setNotes] = useState('');
  const publish = async () => {
    if (draft.isChanged) await draft.save();
    const { version, created } = await troupe.networks.publish({
      params: { network: network.id },
      body: { notes: notes.trim() === '' ? null : notes.trim() },
    });
    say(
      created
        ? `Published version ${version}. New runs use it.`
        : `No new version: version ${version} has the same content.`,
    );
  };
  const problems = trial.problems;
  return (
    <Dialog open wide onClose={onClose} title={`Publish “${network.name}”`}>
      {draft.theirs ? (
        <Conflict draft={draft} theirs={draft.theirs} />
      ) : (
        <Form
          submit={draft.isChanged ? 'Save and publish' : 'Publish network'}
          isIncomplete={problems.length > 0 || (!isCurrent && draft.isChanged)}
          act={publish}
          onDone={onClose}
          changes="networks"
          actions={<Button onClick={onClose}>Cancel</Button>}
        >
          {problems.length > 0 && (
            <div className="flex flex-col gap-2">
              <Notice tone="bad">
                Cannot publish: {problems.length} {problems.length === 1 ? 'problem' : 'problems'}.
              </Notice>
              <ProblemList
                problems={problems}
                definition={draft.definition}
                onJump={(agent) => {
                  onClose();
                  go({ tab: 'graph', ...(agent ? { agent } : {}) });
                }}
              />
            </div>
          )}
          {network.currentVersion === null ? (
            <p className="text-sm text-muted">
              This will be version 1: {draft.definition.agents.length} agents and{' '}
              {draft.definition.tools.length} tools. Runs use a version until the next one is published.
            </p>
          ) : (
            <Against
              network={network.id}
              version={network.currentVersion}
              definition={draft.definition}
              hasProblems={problems.length > 0}
            />
          )}
          {draft.isChanged && <Notice>Your unsaved changes are saved first.</Notice>}
          <TextField
            label="Note"
            hint="Optional. Shown in the list of versions."
            maxLength={2000}
            value={notes}
            onChange={setNotes}
          />
        </Form>
      )}
    </Dialog>
  );
}

function Against({
  network,
  version,
  definition,
  hasProblems,
}: {
  network: string;
  version: number;
  definition: Definition;
  hasProblems: boolean;
}) {
  const query = useQuery(versionQuery(network, version));
  // Tools and agents of the project are as they are when it is published: so they are asked for anew whenever the dialog is opened.
  const borrowed = useQuery({
    queryKey: ['network-trials', network, 'against', version, definition],
    queryFn: async ({ signal }) => {
      const asked = { params: { network }, query: { dryRun: 'true', against: version } } as const;
      const { versionChanges } = await troupe.networks.apply({ ...asked, body: definition }, { signal });
      return versionChanges ?? [];
    },
    enabled: !hasProblems,
    staleTime: 0,
    gcTime: 0,
  });
  const changes = borrowed.data ?? [];
  const isSame = borrowed.isSuccess && borrowedIn(changes).length === 0;
  return (
    <section aria-label={`Compared with version ${version}`} className="flex flex-col gap-2">
      <p className="text-sm font-medium">Compared with version {version}, which runs use now</p>
      <Loaded query={query}>
        {(published) => (
          <ChangesView
            before={withoutLayout(published)}
            after={withoutLayout(definition)}
            nothing={
              isSame
                ? 'Nothing differs, so there would be no new version.'
                : 'The network itself is the same.'
            }
          />
        )}
      </Loaded>
      <BorrowedView changes={changes} label="Changed in the project since, and used from this version on" />
      {borrowed.error && (
        <Notice tone="warn">
          Whether tools, models or agents of the project changed since could not be asked:{' '}
          {messageOf(borrowed.error)}
        </Notice>
      )}
    </section>
  );
}
