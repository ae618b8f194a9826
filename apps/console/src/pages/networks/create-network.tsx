import type { Api } from '@troupe/sdk';
import { FileUp, Square, Waypoints } from 'lucide-react';
import { useState } from 'react';
import { cx } from '../../blocks/cx.ts';
import { Field, Input, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { IssueList } from '../../blocks/form-errors.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { issuesOf, messageOf } from '../../data/issues.ts';
import { createExample } from './example.ts';
import { readNetworkFile } from './network-file.ts';

type Way = 'nothing' | 'example' | 'file';
const ways: { way: Way; label: string; about: string; icon: typeof Square }[] = [
  { way: 'nothing', label: 'Empty', about: 'An empty canvas', icon: Square },
  { way: 'example', label: 'From an example', about: 'Three agents and a tool', icon: Waypoints },
  { way: 'file', label: 'From a file', about: 'An export, YAML or JSON', icon: FileUp },
];

export function CreateNetwork({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (network: Api.Network) => void;
}) {
  const [way, setWay] = useState<Way>('nothing');
  const [name, setName] = useState('');
  const [file, setFile] = useState<File | null>(null);
  return (
    <FormDialog
      onClose={onClose}
      title="Create network"
      submit="Create network"
      act={() => made(way, name.trim(), file)}
      changes="networks"
      onDone={(network) => {
        say(`Created network “${network.name}”.`);
        onMade(network);
      }}
      about={(error) => way === 'file' && <IssueList issues={issuesOf(error).slice(0, 10)} />}
    >
      <fieldset className="grid gap-2 sm:grid-cols-3">
        <legend className="mb-1 text-xs font-medium text-muted">Start from</legend>
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
        <Field label="File" hint="An exported version, or a document for `troupe networks apply`.">
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
      <TextField
        label="Name"
        path="name"
        hint={way === 'file' ? 'Empty: the name in the file.' : undefined}
        required={way !== 'file'}
        maxLength={200}
        placeholder={way === 'example' ? 'Help desk' : ''}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}

async function made(way: Way, name: string, file: File | null): Promise<Api.Network> {
  if (way === 'nothing') return troupe.networks.create({ body: { name } });
  if (way === 'example') return createExample(name);
  if (!file) throw new Error('Choose a file.');
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
