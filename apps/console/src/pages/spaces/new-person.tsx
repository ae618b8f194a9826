import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';

export function NewPerson({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (person: Api.Entity) => void;
}) {
  const [name, setName] = useState('');
  const [externalId, setExternalId] = useState('');
  return (
    <FormDialog
      onClose={onClose}
      title="Create person"
      submit="Create person"
      isIncomplete={!name.trim()}
      act={() =>
        troupe.entities.create({
          body: { externalId: externalId.trim() || nameToId(name), displayName: name.trim() },
        })
      }
      changes="entities"
      onDone={onMade}
    >
      <TextField label="Name" path="displayName" required maxLength={200} value={name} onChange={setName} />
      <TextField
        label="External id"
        hint={`The id of the person in tokens. Empty: ${nameToId(name) || 'generated from the name'}.`}
        path="externalId"
        maxLength={500}
        value={externalId}
        onChange={setExternalId}
      />
    </FormDialog>
  );
}

function nameToId(name: string): string {
  return name.trim().toLowerCase().replace(/\s+/gu, '-');
}
