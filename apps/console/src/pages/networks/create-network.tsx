import { useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { FileUp, Square, Waypoints } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, messageOf, restOf } from '../../data/issues.ts';
import { createExample } from './example.ts';
import { readNetworkFile } from './network-file.ts';

type Way = 'nothing' | 'example' | 'file';
const ways: { way: Way; label: string; about: string; icon: typeof Square }[] = [
  { way: 'nothing', label: 'From nothing', about: 'An empty canvas', icon: Square },
  { way: 'example', label: 'From an example', about: 'Three agents and a tool', icon: Waypoints },
  { way: 'file', label: 'From a file', about: 'An export, YAML or JSON', icon: FileUp },
];

export function CreateNetwork({
  open,
  onClose,
  onMade,
}: {
  open: boolean;
  onClose: () => void;
  onMade: (network: Api.Network) => void;
}) {
  return (
    <Dialog open={open} onClose={onClose} title="New network">
      <Form onClose={onClose} onMade={onMade} />
    </Dialog>
  );
}

function Form({ onClose, onMade }: { onClose: () => void; onMade: (network: Api.Network) => void }) {
  const client = useQueryClient();
  const [way, setWay] = useState<Way>('nothing');
  const [name, setName] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const network = await made(way, name.trim(), file);
      await client.invalidateQueries({ queryKey: ['networks'] });
      say(`Made the network “${network.name}”.`);
      onMade(network);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const rest = restOf(error, ['name']);
  return (
    <form onSubmit={(event) => void make(event)} className="flex flex-col gap-4">
      <fieldset className="grid gap-2 sm:grid-cols-3">
        <legend className="mb-1 text-xs font-medium text-muted">How to begin</legend>
        {ways.map(({ way: one, label, about, icon: Icon }) => (
          <label
            key={one}
            className={cx(
              'flex cursor-pointer flex-col gap-1 rounded-md border p-3 has-focus-visible:shadow-[var(--troupe-focus)]',
              way === one ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover',
            )}
          >
            <input
              type="radio"
              name="way"
              className="sr-only"
              checked={way === one}
              onChange={() => setWay(one)}
            />
            <Icon size={16} aria-hidden="true" className={way === one ? 'text-accent' : 'text-faint'} />
            <span className="text-sm font-medium">{label}</span>
            <span className="text-xs text-muted">{about}</span>
          </label>
        ))}
      </fieldset>
      {way === 'file' && (
        <Field
          label="File"
          hint="What “Export” of a version gave you, or a document as `troupe networks apply` takes it."
        >
          {(ids) => (
            <Input
              {...ids}
              type="file"
              required
              accept=".json,.yaml,.yml"
              className="h-auto py-1.5"
              onChange={({ target }) => setFile(target.files?.[0] ?? null)}
            />
          )}
        </Field>
      )}
      <Field
        label="Name"
        error={issueAt(error, 'name')}
        hint={way === 'file' ? 'Left empty: the one in the file.' : undefined}
      >
        {(ids) => (
          <Input
            {...ids}
            required={way !== 'file'}
            maxLength={200}
            placeholder={way === 'example' ? 'Help desk' : ''}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      {rest && (
        <Notice tone="bad">
          {rest}
          {way === 'file' && <FileIssues error={error} />}
        </Notice>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={busy}>
          Create
        </Button>
      </div>
    </form>
  );
}

function FileIssues({ error }: { error: unknown }) {
  const issues = (error as { issues?: { path: string; message: string }[] }).issues ?? [];
  if (issues.length === 0) return null;
  return (
    <ul className="mt-1 list-disc pl-4">
      {issues.slice(0, 10).map(({ path, message }) => (
        <li key={path}>
          <code className="font-mono text-xs">{path}</code> {message}
        </li>
      ))}
    </ul>
  );
}

async function made(way: Way, name: string, file: File | null): Promise<Api.Network> {
  if (way === 'nothing') return troupe.networks.create({ body: { name } });
  if (way === 'example') return createExample(name);
  if (!file) throw new Error('Choose a file first.');
  let read: Awaited<ReturnType<typeof readNetworkFile>>;
  try {
    read = await readNetworkFile(await file.text());
  } catch (error) {
    throw new Error(`“${file.name}” cannot be read: ${messageOf(error)}`);
  }
  const other = name === '' ? {} : { name };
  return read.kind === 'export'
    ? troupe.networks.import({ body: { ...read.file, ...other } })
    : troupe.networks.create({ body: { ...read.definition, ...other } });
}
