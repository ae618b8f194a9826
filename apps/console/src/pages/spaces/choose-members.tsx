import type { Api } from '@troupe/sdk';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { nameOfEntity } from '../../data/names.ts';
import { ChooseMany } from './choose-many.tsx';
import { NewPerson } from './new-person.tsx';

/** The agents and people to add to a space, by id. */
export interface ChosenMembers {
  agents: ReadonlySet<string>;
  people: ReadonlySet<string>;
}

/** Chooses agents and people. A person who is missing can be created here, and is chosen then. */
export function ChooseMembers({
  agents,
  people,
  chosen,
  onChange,
  meId = null,
  noAgents,
  noPeople,
  onCreated,
}: {
  agents: Api.Agent[];
  people: Api.Entity[];
  chosen: ChosenMembers;
  onChange: (chosen: ChosenMembers) => void;
  meId?: string | null;
  noAgents: string;
  noPeople: string;
  onCreated?: (person: Api.Entity) => void;
}) {
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <ChooseMany
        legend="Agents"
        type="agent"
        options={agents.map(({ id, name, description }) => ({ id, name, about: description }))}
        chosen={chosen.agents}
        onChange={(ids) => onChange({ ...chosen, agents: ids })}
        empty={noAgents}
      />
      <ChooseMany
        legend="People"
        type="human"
        options={people.map((person) => ({
          id: person.id,
          name: nameOfEntity(person),
          about: person.id === meId ? '(you)' : null,
        }))}
        chosen={chosen.people}
        onChange={(ids) => onChange({ ...chosen, people: ids })}
        empty={noPeople}
        action={
          <Button kind="quiet" size="small" icon={UserPlus} onClick={() => setCreating(true)}>
            Create person
          </Button>
        }
      />
      {isCreating && (
        <NewPerson
          onClose={() => setCreating(false)}
          onMade={(person) => {
            onChange({ ...chosen, people: new Set(chosen.people).add(person.id) });
            onCreated?.(person);
            setCreating(false);
          }}
        />
      )}
    </>
  );
}
