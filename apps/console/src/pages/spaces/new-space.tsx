import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Api, ApiError } from '@troupe/sdk';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, Select } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { spaceAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useMe } from '../../data/me.ts';
import { nameOfEntity, useAgents } from '../../data/names.ts';
import { changeSettings } from '../../data/settings.ts';
import { ChooseMany } from './choose-many.tsx';
import { NewPerson } from './new-person.tsx';
import { policyWords } from './words.ts';

export function NewSpace({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const agents = useAgents() ?? [];
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [policy, setPolicy] = useState<Api.SpacePolicy>('all');
  const [agentIds, setAgentIds] = useState<ReadonlySet<string>>(new Set());
  const [peopleIds, setPeopleIds] = useState<ReadonlySet<string>>(
    () => new Set(me.entityId ? [me.entityId] : []),
  );
  const [asksPerson, setAsksPerson] = useState(false);
  const create = useMutation({
    mutationFn: () =>
      troupe.spaces.create({
        body: {
          name: name.trim() || null,
          description: description.trim() || null,
          policy,
          members: [
            ...[...peopleIds].map((entityId) => ({
              entityId,
              role: entityId === me.entityId ? ('admin' as const) : ('member' as const),
            })),
            ...[...agentIds].map((agentId) => ({ agentId })),
          ],
        },
      }),
    onSuccess: (space) => {
      void client.invalidateQueries({ queryKey: ['spaces'] });
      void navigate({ to: spaceAddress(space.id) });
    },
  });
  const issue = (path: string) =>
    create.error instanceof ApiError
      ? create.error.issues.find((one) => one.path.startsWith(path))?.message
      : undefined;
  return (
    <Dialog open onClose={onClose} title="New space">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Field label="Name" error={issue('name')}>
          {(ids) => (
            <Input
              {...ids}
              maxLength={200}
              placeholder="What it is about"
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field label="Description" hint="May be left empty. Agents read it." error={issue('description')}>
          {(ids) => (
            <Input {...ids} value={description} onChange={({ target }) => setDescription(target.value)} />
          )}
        </Field>
        <ChooseMany
          legend="Agents"
          type="agent"
          options={agents.map(({ id, name: called, description: about }) => ({ id, name: called, about }))}
          chosen={agentIds}
          onChange={setAgentIds}
          empty="There is no agent yet."
        />
        <ChooseMany
          legend="People"
          type="human"
          options={(me.people ?? []).map((person) => ({
            id: person.id,
            name: nameOfEntity(person),
            about: person.id === me.entityId ? '(you)' : null,
          }))}
          chosen={peopleIds}
          onChange={setPeopleIds}
          empty="Nobody is known yet. Make yourself a person, to speak as."
          action={
            <Button
              kind="quiet"
              size="small"
              icon={<UserPlus size={14} aria-hidden="true" />}
              onClick={() => setAsksPerson(true)}
            >
              New person
            </Button>
          }
        />
        <Field label="A message starts" hint={policyWords[policy].about}>
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
        {create.error && <Notice tone="bad">{create.error.message}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={create.isPending}>
            Make the space
          </Button>
        </div>
      </form>
      {asksPerson && (
        <NewPerson
          onClose={() => setAsksPerson(false)}
          onMade={(person) => {
            setPeopleIds(new Set(peopleIds).add(person.id));
            // The first one whom somebody makes is most likely themselves.
            if (!me.entityId) changeSettings({ entityId: person.id });
            setAsksPerson(false);
          }}
        />
      )}
    </Dialog>
  );
}
