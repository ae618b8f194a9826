import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { SelectField, TextAreaField, TextField } from '../../blocks/field.tsx';
import { Confirm, Form } from '../../blocks/form.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { policyOptions, policyWords } from './words.ts';

export function SettingsPanel({ space }: { space: Api.Space }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(space.name ?? '');
  const [description, setDescription] = useState(space.description ?? '');
  const [policy, setPolicy] = useState(space.policy);
  const [chainDepth, setChainDepth] = useState(String(space.limits.chainDepth));
  const [agentRuns, setAgentRuns] = useState(String(space.limits.agentRuns));
  const [deletes, setDeletes] = useState(false);
  const isChanged =
    name !== (space.name ?? '') ||
    description !== (space.description ?? '') ||
    policy !== space.policy ||
    chainDepth !== String(space.limits.chainDepth) ||
    agentRuns !== String(space.limits.agentRuns);
  return (
    <Form
      label="Settings of the space"
      className="p-4"
      submit="Save space"
      isIncomplete={!isChanged}
      actions={
        <Button kind="danger" className="mr-auto" onClick={() => setDeletes(true)}>
          Delete space
        </Button>
      }
      act={() =>
        troupe.space(space.id).update({
          name: name.trim() || null,
          description: description.trim() || null,
          policy,
          limits: { chainDepth: Number(chainDepth), agentRuns: Number(agentRuns) },
        })
      }
      changes="spaces"
      onDone={() => say('Saved the space.')}
    >
      <TextField label="Name" path="name" maxLength={200} value={name} onChange={setName} />
      <TextAreaField
        label="Description"
        path="description"
        rows={3}
        value={description}
        onChange={setDescription}
      />
      <SelectField
        label="A message starts"
        hint={policyWords[policy].about}
        path="policy"
        value={policy}
        onChange={setPolicy}
        options={policyOptions}
      />
      <TextField
        label="Max chain depth"
        hint="How many agents in a row may start one another after a message of a person."
        path="limits.chainDepth"
        type="number"
        min={1}
        max={100}
        required
        value={chainDepth}
        onChange={setChainDepth}
      />
      <TextField
        label="Max agent runs per message"
        hint="How many runs agents may start after one message of a person."
        path="limits.agentRuns"
        type="number"
        min={0}
        max={1000}
        required
        value={agentRuns}
        onChange={setAgentRuns}
      />
      <Unsaved when={isChanged && !deletes} within />
      <Confirm
        open={deletes}
        onClose={() => setDeletes(false)}
        title="Delete this space?"
        label="Delete space"
        act={async () => {
          await troupe.space(space.id).delete();
          client.removeQueries({ queryKey: ['spaces', 'one', space.id] });
          void client.invalidateQueries({ queryKey: ['spaces', 'list'] });
          void navigate({ to: '/spaces' });
          say('Deleted the space.');
        }}
      >
        This deletes its messages and cancels its runs. It cannot be undone.
      </Confirm>
    </Form>
  );
}
