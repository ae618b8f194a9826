import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Checkbox, SelectField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { Issue } from '../../blocks/form-errors.tsx';
import { ShownOnce } from '../../blocks/shown-once.tsx';
import { troupe } from '../../data/client.ts';

const nouns = ['agents', 'sessions', 'runs', 'spaces', 'networks', 'models', 'triggers'] as const;
const DAY_MS = 86_400_000;

/** Creates a key, and shows it once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<'secret' | 'public'>('secret');
  const [all, setAll] = useState(true);
  const [scopes, setScopes] = useState<ReadonlySet<Api.Scope>>(new Set());
  const [days, setDays] = useState('');
  const [made, setMade] = useState<{ name: string; key: string } | null>(null);
  if (made) return <ShownOnce title={`Key ${made.name}`} text={made.key} onClose={onClose} />;
  const toggle = (scope: Api.Scope) => {
    const next = new Set(scopes);
    if (!next.delete(scope)) next.add(scope);
    setScopes(next);
  };
  const box = (scope: Api.Scope) => (
    <Checkbox
      key={scope}
      label={<code className="font-mono text-xs">{scope}</code>}
      checked={scopes.has(scope)}
      onChange={() => toggle(scope)}
    />
  );
  return (
    <FormDialog
      onClose={onClose}
      title="Create key"
      submit="Create key"
      isIncomplete={!all && scopes.size === 0}
      act={() =>
        troupe.access.createKey({
          body: {
            name,
            kind,
            scopes: all ? [] : [...scopes],
            expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
          },
        })
      }
      changes="keys"
      onDone={setMade}
    >
      <TextField
        label="Name"
        hint="The program that uses it."
        path="name"
        required
        maxLength={200}
        value={name}
        onChange={setName}
      />
      <SelectField
        label="Kind"
        hint={
          kind === 'secret'
            ? 'For servers.'
            : 'For browsers, with the token of a person. It gives access to the data of that person.'
        }
        value={kind}
        onChange={setKind}
        options={[
          ['secret', 'Secret'],
          ['public', 'Public'],
        ]}
      />
      <fieldset>
        <legend className="mb-1 text-xs font-medium text-muted">Scopes</legend>
        <Checkbox label="All scopes of its kind" checked={all} onChange={setAll} />
        {!all && (
          <div className="mt-2 grid grid-cols-2 gap-1.5 rounded-md bg-sunken p-3">
            {nouns.flatMap((noun) => [box(`${noun}:read`), box(`${noun}:write`)])}
            {box('networks:run')}
            {box('admin')}
          </div>
        )}
        <Issue path="scopes" />
      </fieldset>
      <TextField
        label="Expires after (days)"
        hint="Empty: never."
        path="expiresAt"
        type="number"
        min={1}
        step={1}
        value={days}
        onChange={setDays}
      />
    </FormDialog>
  );
}
