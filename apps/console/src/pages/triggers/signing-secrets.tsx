import { useQuery } from '@tanstack/react-query';
import { KeyRound, X } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { Select, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { ShownOnce } from '../../blocks/shown-once.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { troupe } from '../../data/client.ts';
import { secretsQuery } from '../../data/queries.ts';

/** The secrets that requests are signed with, newest first. */
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
        <p className="text-xs text-faint">Not signed: the receiver cannot verify the sender.</p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {value.map((name) => (
          <span key={name} className="inline-flex items-center gap-1">
            <Tag tone={secrets && !secrets.some((one) => one.name === name) ? 'warn' : 'accent'}>{name}</Tag>
            <IconButton
              label={`Do not sign with ${name}`}
              icon={X}
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
        <Button size="small" disabled={value.length >= 5} icon={KeyRound} onClick={() => setMakes(true)}>
          Create secret
        </Button>
      </div>
      {makes && <MakeSecret onClose={() => setMakes(false)} onMade={(name) => onChange([name, ...value])} />}
    </fieldset>
  );
}

function MakeSecret({ onClose, onMade }: { onClose: () => void; onMade: (name: string) => void }) {
  const [name, setName] = useState('WEBHOOK');
  const { data: secrets } = useQuery(secretsQuery);
  const isTaken = secrets?.some((one) => one.name === name.trim()) ?? false;
  const [made, setMade] = useState<string | null>(null);
  if (made) return <ShownOnce title={`Secret ${name.trim()}`} text={made} onClose={onClose} />;
  return (
    <FormDialog
      onClose={onClose}
      title="Create signing secret"
      submit="Create secret"
      isIncomplete={isTaken || name.trim() === ''}
      act={async () => {
        const value = `whsec_${base64(crypto.getRandomValues(new Uint8Array(24)))}`;
        await troupe.access.putSecret({ params: { name: name.trim() }, body: { value } });
        return value;
      }}
      changes="secrets"
      onDone={(value) => {
        onMade(name.trim());
        setMade(value);
      }}
    >
      <TextField
        label="Name of the secret"
        path="name"
        error={isTaken ? 'A secret with this name exists.' : undefined}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
