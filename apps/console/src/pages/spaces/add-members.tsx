import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';
import { useAgents, usePeople } from '../../data/names.ts';
import { ChooseMembers, type ChosenMembers } from './choose-members.tsx';

export function AddMembers({
  spaceId,
  members,
  onClose,
}: {
  spaceId: string;
  members: Api.Membership[];
  onClose: () => void;
}) {
  const here = new Set(members.flatMap(({ entityId, agentId }) => [entityId, agentId]));
  const agents = useAgents()?.filter(({ id }) => !here.has(id)) ?? [];
  const people = usePeople()?.filter(({ id }) => !here.has(id)) ?? [];
  const [chosen, setChosen] = useState<ChosenMembers>({ agents: new Set(), people: new Set() });
  const count = chosen.agents.size + chosen.people.size;
  return (
    <FormDialog
      onClose={onClose}
      title="Add members"
      submit={count > 1 ? `Add ${count} members` : 'Add member'}
      isIncomplete={count === 0}
      act={async () => {
        const space = troupe.space(spaceId);
        for (const entityId of chosen.people) await space.addMember({ entityId });
        for (const agentId of chosen.agents) await space.addMember({ agentId });
      }}
      changes="spaces"
    >
      <ChooseMembers
        agents={agents}
        people={people}
        chosen={chosen}
        onChange={setChosen}
        noAgents="All agents are members."
        noPeople="All people are members."
      />
    </FormDialog>
  );
}
