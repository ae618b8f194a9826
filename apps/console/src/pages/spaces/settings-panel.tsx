import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Api, ApiError } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Field, Input, Select, TextArea } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { policyWords } from './words.ts';

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
  const save = useMutation({
    mutationFn: () =>
      troupe.space(space.id).update({
        name: name.trim() || null,
        description: description.trim() || null,
        policy,
        limits: { chainDepth: Number(chainDepth), agentRuns: Number(agentRuns) },
      }),
    onSuccess: (updated) => {
      client.setQueryData(['spaces', 'one', space.id], updated);
      void client.invalidateQueries({ queryKey: ['spaces'] });
      say('Saved.');
    },
  });
  const issue = (path: string) =>
    save.error instanceof ApiError
      ? save.error.issues.find((one) => one.path.includes(path))?.message
      : undefined;
  return (
    <form
      className="flex flex-col gap-4 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Field label="Name" error={issue('name')}>
        {(ids) => (
          <Input {...ids} maxLength={200} value={name} onChange={({ target }) => setName(target.value)} />
        )}
      </Field>
      <Field label="Description" error={issue('description')}>
        {(ids) => (
          <TextArea
            {...ids}
            rows={3}
            value={description}
            onChange={({ target }) => setDescription(target.value)}
          />
        )}
      </Field>
      <Field label="A message starts" hint={policyWords[policy].about} error={issue('policy')}>
        {(ids) => (
          <Select
            {...ids}
            value={policy}
            onChange={({ target }) => setPolicy(target.value as Api.SpacePolicy)}
          >
            {Object.entries(policyWords).map(([value, { label }]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field
        label="Agents in a row"
        hint="How many agents may start one another after what a person said."
        error={issue('chainDepth')}
      >
        {(ids) => (
          <Input
            {...ids}
            type="number"
            min={1}
            max={100}
            required
            value={chainDepth}
            onChange={({ target }) => setChainDepth(target.value)}
          />
        )}
      </Field>
      <Field
        label="Runs after one message"
        hint="How many runs agents may start in all after one message of a person."
        error={issue('agentRuns')}
      >
        {(ids) => (
          <Input
            {...ids}
            type="number"
            min={0}
            max={1000}
            required
            value={agentRuns}
            onChange={({ target }) => setAgentRuns(target.value)}
          />
        )}
      </Field>
      {save.error && <Notice tone="bad">{save.error.message}</Notice>}
      <div className="flex flex-wrap justify-between gap-2">
        <Button kind="danger" onClick={() => setDeletes(true)}>
          Delete the space
        </Button>
        <Button type="submit" kind="primary" busy={save.isPending} disabled={!isChanged}>
          Save
        </Button>
      </div>
      <Unsaved when={isChanged && !deletes} within />
      <Confirm
        open={deletes}
        onClose={() => setDeletes(false)}
        title="Delete this space?"
        label="Delete for good"
        act={async () => {
          await troupe.space(space.id).delete();
          client.removeQueries({ queryKey: ['spaces', 'one', space.id] });
          void client.invalidateQueries({ queryKey: ['spaces', 'list'] });
          void navigate({ to: '/spaces' });
          say('The space is deleted.');
        }}
      >
        All that was said in it goes. Runs that speak there are canceled. This cannot be undone.
      </Confirm>
    </form>
  );
}
