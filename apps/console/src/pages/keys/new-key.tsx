import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { CopyText } from '../../blocks/copy-text.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Checkbox, Field, Input, Select } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';

const nouns = ['agents', 'sessions', 'runs', 'spaces', 'networks', 'models', 'triggers'] as const;
const DAY_MS = 86_400_000;

/** A key is shown this once: the dialog stays until it is closed by hand. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<'secret' | 'public'>('secret');
  const [all, setAll] = useState(true);
  const [scopes, setScopes] = useState<ReadonlySet<Api.Scope>>(new Set());
  const [days, setDays] = useState('');
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: () =>
      troupe.access.createKey({
        body: {
          name,
          kind,
          scopes: all ? [] : [...scopes],
          expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
        },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
  });
  const rest = restOf(make.error, ['name', 'scopes', 'expiresAt']);
  if (make.data)
    return (
      <Dialog open onClose={onClose} title={`The key ${make.data.name}`}>
        <div className="flex flex-col gap-4">
          <Notice tone="warn">It is shown this once. Keep it where only your program finds it.</Notice>
          <CopyText text={make.data.key} label="The key" />
          <div className="flex justify-end">
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      </Dialog>
    );
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
    <Dialog open onClose={onClose} title="New key">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <Field label="Name" hint="What uses it." error={issueAt(make.error, 'name')}>
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
          label="Kind"
          hint={
            kind === 'secret'
              ? 'For servers. Whoever has it may do what it allows.'
              : 'For browsers, together with the token of a person: it reaches what belongs to them.'
          }
        >
          {(ids) => (
            <Select
              {...ids}
              value={kind}
              onChange={({ target }) => setKind(target.value as 'secret' | 'public')}
            >
              <option value="secret">Secret</option>
              <option value="public">Public</option>
            </Select>
          )}
        </Field>
        <fieldset>
          <legend className="mb-1 text-xs font-medium text-muted">What it may</legend>
          <Checkbox
            label="Everything that its kind allows"
            checked={all}
            onChange={({ target }) => setAll(target.checked)}
          />
          {!all && (
            <div className="mt-2 grid grid-cols-2 gap-1.5 rounded-md bg-sunken p-3">
              {nouns.flatMap((noun) => [box(`${noun}:read`), box(`${noun}:write`)])}
              {box('networks:run')}
              {box('admin')}
            </div>
          )}
          {issueAt(make.error, 'scopes') && (
            <p className="mt-1 text-xs text-bad">{issueAt(make.error, 'scopes')}</p>
          )}
        </fieldset>
        <Field label="Expires after (days)" hint="Empty: never." error={issueAt(make.error, 'expiresAt')}>
          {(ids) => (
            <Input
              {...ids}
              type="number"
              min={1}
              step={1}
              value={days}
              onChange={({ target }) => setDays(target.value)}
            />
          )}
        </Field>
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={make.isPending} disabled={!all && scopes.size === 0}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
