import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { KeyRound, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { CopyText } from '../../blocks/copy-text.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, Select } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';
import { secretsQuery } from '../../data/secrets.ts';

/** The secrets that requests are signed with, newest first. A new one is made here and shown this once. */
export function SigningSecrets({
  value,
  onChange,
}: {
  value: string[];
  onChange: (names: string[]) => void;
}) {
  const { data: secrets } = useQuery(secretsQuery);
  const [makes, setMakes] = useState(false);
  const free = (secrets ?? []).filter(({ name }) => !value.includes(name));
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 text-xs font-medium text-muted">Signed with</legend>
      {value.length === 0 && (
        <p className="text-xs text-faint">Nothing: the receiver cannot tell that it is you.</p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {value.map((name) => (
          <span key={name} className="inline-flex items-center gap-1">
            <Tag tone={secrets && !secrets.some((one) => one.name === name) ? 'warn' : 'accent'}>{name}</Tag>
            <Button
              kind="quiet"
              size="small-icon"
              aria-label={`Do not sign with ${name}`}
              icon={<X size={13} />}
              onClick={() => onChange(value.filter((one) => one !== name))}
            />
          </span>
        ))}
        <Select
          aria-label="Sign with a secret"
          className="max-w-52"
          value=""
          disabled={value.length >= 5 || free.length === 0}
          onChange={({ target }) => onChange([target.value, ...value])}
        >
          <option value="">{free.length === 0 ? 'No other secret' : 'Add a secret…'}</option>
          {free.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
        <Button
          size="small"
          disabled={value.length >= 5}
          icon={<KeyRound size={13} aria-hidden="true" />}
          onClick={() => setMakes(true)}
        >
          Make a secret
        </Button>
      </div>
      {makes && <MakeSecret onClose={() => setMakes(false)} onMade={(name) => onChange([name, ...value])} />}
    </fieldset>
  );
}

function MakeSecret({ onClose, onMade }: { onClose: () => void; onMade: (name: string) => void }) {
  const [name, setName] = useState('WEBHOOK');
  const client = useQueryClient();
  const { data: secrets } = useQuery(secretsQuery);
  const isTaken = secrets?.some((one) => one.name === name.trim()) ?? false;
  const make = useMutation({
    mutationFn: async () => {
      const value = `whsec_${base64(crypto.getRandomValues(new Uint8Array(24)))}`;
      await troupe.access.putSecret({ params: { name: name.trim() }, body: { value } });
      return value;
    },
    onSuccess: async () => {
      onMade(name.trim());
      await client.invalidateQueries({ queryKey: ['secrets'] });
    },
  });
  return (
    <Dialog open onClose={onClose} title="Make a secret to sign with">
      {make.data ? (
        <div className="flex flex-col gap-4">
          <Notice tone="warn">It is shown this once. The receiver needs it to check what it gets.</Notice>
          <CopyText text={make.data} label={`The secret ${name}`} />
          <div className="flex justify-end">
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <div className="flex flex-col gap-4">
          <Field
            label="Name of the secret"
            error={isTaken ? 'There is one of this name: it would be replaced.' : undefined}
          >
            {(ids) => <Input {...ids} value={name} onChange={({ target }) => setName(target.value)} />}
          </Field>
          {make.error && <Notice tone="bad">{messageOf(make.error)}</Notice>}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button
              kind="primary"
              busy={make.isPending}
              disabled={isTaken || name.trim() === ''}
              onClick={() => make.mutate()}
            >
              Make it
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
