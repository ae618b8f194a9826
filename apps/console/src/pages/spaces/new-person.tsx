import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Api, ApiError } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { entitiesQuery } from '../../data/queries.ts';

export function NewPerson({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (person: Api.Entity) => void;
}) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [externalId, setExternalId] = useState('');
  const create = useMutation({
    mutationFn: () =>
      troupe.entities.create({
        body: { externalId: externalId.trim() || nameToId(name), displayName: name.trim() },
      }),
    onSuccess: (person) => {
      client.setQueryData(entitiesQuery.queryKey, (known) => (known ? [person, ...known] : known));
      onMade(person);
      void client.invalidateQueries({ queryKey: ['entities'] });
    },
  });
  const refused = create.error instanceof ApiError ? create.error : null;
  const issue = (path: string) => refused?.issues.find((one) => one.path.includes(path))?.message;
  const isTaken = refused?.code === 'external_id_taken';
  return (
    <Dialog open onClose={onClose} title="New person">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          // It stands within another form where people are chosen.
          event.stopPropagation();
          create.mutate();
        }}
      >
        <Field label="Name" error={issue('displayName')}>
          {(ids) => (
            <Input
              {...ids}
              required
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field
          label="Name in your system"
          hint={`What tokens call this person. Empty: ${nameToId(name) || 'made of the name'}.`}
          error={issue('externalId') ?? (isTaken ? refused?.message : undefined)}
        >
          {(ids) => (
            <Input
              {...ids}
              maxLength={500}
              value={externalId}
              onChange={({ target }) => setExternalId(target.value)}
            />
          )}
        </Field>
        {create.error && !isTaken && <Notice tone="bad">{create.error.message}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={create.isPending} disabled={!name.trim()}>
            Make the person
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function nameToId(name: string): string {
  return name.trim().toLowerCase().replace(/\s+/gu, '-');
}
