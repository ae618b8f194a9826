import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { type FormEvent, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';

export default function CopyNetwork({ network, onClose }: { network: Api.Network; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(`${network.name} copy`);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const copy = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const made = await troupe.networks.copy({ params: { network: network.id }, body: { name } });
      await client.invalidateQueries({ queryKey: ['networks'] });
      onClose();
      await navigate({ to: '/networks/$network', params: { network: made.id }, search: {} });
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const rest = restOf(error, ['name']);
  return (
    <Dialog open onClose={onClose} title="Copy the network">
      <form onSubmit={(event) => void copy(event)} className="flex flex-col gap-4">
        <p className="text-sm text-muted">A new draft with what is saved of this one in it.</p>
        <Field label="Name of the copy" error={issueAt(error, 'name')}>
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
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Copy
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
