import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { SelectField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { spaceAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useMe } from '../../data/me.ts';
import { useAgents } from '../../data/names.ts';
import { changeSettings } from '../../data/settings.ts';
import { ChooseMembers, type ChosenMembers } from './choose-members.tsx';
import { policyOptions, policyWords } from './words.ts';

export function NewSpace({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const agents = useAgents() ?? [];
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [policy, setPolicy] = useState<Api.SpacePolicy>('all');
  const [chosen, setChosen] = useState<ChosenMembers>(() => ({
    agents: new Set(),
    people: new Set(me.entityId ? [me.entityId] : []),
  }));
  return (
    <FormDialog
      onClose={onClose}
      title="Create space"
      submit="Create space"
      act={() =>
        troupe.spaces.create({
          body: {
            name: name.trim() || null,
            description: description.trim() || null,
            policy,
            members: [
              ...[...chosen.people].map((entityId) => ({
                entityId,
                role: entityId === me.entityId ? ('admin' as const) : ('member' as const),
              })),
              ...[...chosen.agents].map((agentId) => ({ agentId })),
            ],
          },
        })
      }
      changes="spaces"
      onDone={(space) => navigate({ to: spaceAddress(space.id) })}
    >
      <TextField
        label="Name"
        path="name"
        maxLength={200}
        placeholder="What it is about"
        value={name}
        onChange={setName}
      />
      <TextField
        label="Description"
        hint="Optional. Agents read it."
        path="description"
        value={description}
        onChange={setDescription}
      />
      <ChooseMembers
        agents={agents}
        people={me.people ?? []}
        chosen={chosen}
        onChange={setChosen}
        meId={me.entityId}
        noAgents="No agents yet."
        noPeople="No people yet. Create yourself, to take part."
        onCreated={({ id }) => {
          // The first person that somebody creates is most likely themselves.
          if (!me.entityId) changeSettings({ entityId: id });
        }}
      />
      <SelectField
        label="A message starts"
        hint={policyWords[policy].about}
        value={policy}
        onChange={setPolicy}
        options={policyOptions}
      />
    </FormDialog>
  );
}
