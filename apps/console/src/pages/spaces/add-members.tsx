import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { nameOfEntity, useAgents, usePeople } from '../../data/names.ts';
import { ChooseMany } from './choose-many.tsx';
import { NewPerson } from './new-person.tsx';

export function AddMembers({
  spaceId,
  members,
  onClose,
}: {
  spaceId: string;
  members: Api.Membership[];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const here = new Set(members.flatMap(({ entityId, agentId }) => [entityId, agentId]));
  const agents = useAgents()?.filter(({ id }) => !here.has(id)) ?? [];
  const people = usePeople()?.filter(({ id }) => !here.has(id)) ?? [];
  const [agentIds, setAgentIds] = useState<ReadonlySet<string>>(new Set());
  const [peopleIds, setPeopleIds] = useState<ReadonlySet<string>>(new Set());
  const [asksPerson, setAsksPerson] = useState(false);
  const add = useMutation({
    mutationFn: async () => {
      const space = troupe.space(spaceId);
      for (const entityId of peopleIds) await space.addMember({ entityId });
      for (const agentId of agentIds) await space.addMember({ agentId });
    },
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: ['spaces'] }),
  });
  const count = agentIds.size + peopleIds.size;
  return (
    <Dialog open onClose={onClose} title="Add members">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <ChooseMany
          legend="Agents"
          type="agent"
          options={agents.map(({ id, name, description }) => ({ id, name, about: description }))}
          chosen={agentIds}
          onChange={setAgentIds}
          empty="All agents are here."
        />
        <ChooseMany
          legend="People"
          type="human"
          options={people.map((person) => ({ id: person.id, name: nameOfEntity(person) }))}
          chosen={peopleIds}
          onChange={setPeopleIds}
          empty="Everybody who is known is here."
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
        {add.error && <Notice tone="bad">{add.error.message}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={add.isPending} disabled={count === 0}>
            {count > 1 ? `Add ${count}` : 'Add'}
          </Button>
        </div>
      </form>
      {asksPerson && (
        <NewPerson
          onClose={() => setAsksPerson(false)}
          onMade={({ id }) => {
            setPeopleIds(new Set(peopleIds).add(id));
            setAsksPerson(false);
          }}
        />
      )}
    </Dialog>
  );
}
