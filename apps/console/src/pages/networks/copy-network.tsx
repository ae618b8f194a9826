import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';

export default function CopyNetwork({ network, onClose }: { network: Api.Network; onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState(`${network.name} copy`);
  return (
    <FormDialog
      onClose={onClose}
      title="Copy network"
      submit="Copy network"
      act={() => troupe.networks.copy({ params: { network: network.id }, body: { name } })}
      changes="networks"
      onDone={({ id }) => {
        onClose();
        void navigate({ to: '/networks/$network', params: { network: id }, search: {} });
      }}
    >
      <p className="text-sm text-muted">The copy is a new draft with the saved content of this network.</p>
      <TextField
        label="Name of the copy"
        path="name"
        required
        maxLength={200}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}
