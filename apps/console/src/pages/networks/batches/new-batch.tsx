import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Play } from 'lucide-react';
import { type FormEvent, useMemo, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { CodeArea } from '../../../blocks/code-area.tsx';
import { Field, Input, Select } from '../../../blocks/field.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import { formatBytes, formatNumber } from '../../../data/format.ts';
import { issueAt, restOf } from '../../../data/issues.ts';
import { snapshotQuery } from '../playground/snapshot.ts';
import { SystemParams, valuesOf } from '../playground/system-params.tsx';
import { MappingPreview } from './mapping-preview.tsx';
import { type FileFormat, guessFormat, previewOf } from './rows.ts';

const MOST_BYTES = 16_000_000;
/** More than that is kept, and not put into a field to be edited. */
const MOST_EDITED = 200_000;

/** A file or what was pasted, what becomes of its columns, and how it is run. */
export function NewBatch({
  network,
  onCancel,
  onMade,
}: {
  network: Api.Network;
  onCancel: () => void;
  onMade: (batch: Api.Batch) => void;
}) {
  const client = useQueryClient();
  const [data, setData] = useState('');
  const [fileName, setFileName] = useState('');
  const [format, setFormat] = useState<FileFormat | 'guess'>('guess');
  const [name, setName] = useState('');
  const [iterations, setIterations] = useState('1');
  const [concurrency, setConcurrency] = useState('5');
  const [given, setGiven] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { data: snapshot } = useQuery({
    ...snapshotQuery(network.id, network.currentVersion ?? 0),
    enabled: network.currentVersion !== null,
  });
  const chosen = format === 'guess' ? guessFormat(data, fileName) : format;
  const preview = useMemo(
    () => (data.trim() === '' ? null : previewOf(data.slice(0, 2_000_000), chosen)),
    [data, chosen],
  );
  const take = async (file: File | undefined) => {
    if (!file) return;
    setError(
      file.size > MOST_BYTES
        ? new Error(`“${file.name}” has ${formatBytes(file.size)}: at most 16 MB are taken.`)
        : null,
    );
    if (file.size > MOST_BYTES) return;
    setData(await file.text());
    setFileName(file.name);
    if (name === '') setName(file.name.replace(/\.\w+$/, ''));
  };
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const batch = await troupe.batches.create({
        params: { network: network.id },
        body: {
          format: chosen,
          data,
          iterations: Number(iterations),
          concurrency: Number(concurrency),
          systemParams: valuesOf(snapshot?.systemParams ?? [], given),
          name: name.trim() || null,
        },
      });
      await client.invalidateQueries({ queryKey: ['batches'] });
      say(`Began a batch of ${formatNumber(batch.counts.total)} runs.`);
      onMade(batch);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const shown = ['name', 'iterations', 'concurrency', 'systemParams'];
  const rest = restOf(error, shown);
  return (
    <form
      onSubmit={(event) => void make(event)}
      aria-label="New batch"
      className="flex max-w-5xl flex-col gap-4"
    >
      <Card title="Inputs">
        <div className="flex flex-col gap-3">
          <div className="grid gap-3 sm:grid-cols-2">
            <Field label="File" hint="CSV or JSONL, 16 MB at most.">
              {(ids) => (
                <Input
                  {...ids}
                  type="file"
                  accept=".csv,.tsv,.txt,.jsonl,.ndjson"
                  className="h-auto py-1.5"
                  onChange={({ target }) => void take(target.files?.[0])}
                />
              )}
            </Field>
            <Field label="Format">
              {(ids) => (
                <Select
                  {...ids}
                  value={format}
                  onChange={({ target }) => setFormat(target.value as typeof format)}
                >
                  <option value="guess">As it looks ({chosen === 'csv' ? 'CSV' : 'JSONL'})</option>
                  <option value="csv">CSV</option>
                  <option value="jsonl">JSONL</option>
                </Select>
              )}
            </Field>
          </div>
          {data.length > MOST_EDITED ? (
            <p className="flex items-center gap-2 text-sm text-muted">
              {fileName || 'What was pasted'}: {formatBytes(data.length)}
              <Button size="small" onClick={() => setData('')}>
                Remove
              </Button>
            </p>
          ) : (
            <Field label="Or paste it here">
              {(ids) => (
                <CodeArea
                  {...ids}
                  rows={6}
                  mostRows={14}
                  placeholder={'input,metadata.topic\nHow much is 2+2?,sums'}
                  value={data}
                  onChange={setData}
                />
              )}
            </Field>
          )}
          {preview && <MappingPreview preview={preview} isPart={data.length > 2_000_000} />}
        </div>
      </Card>
      <Card title="How it is run">
        <div className="flex flex-col gap-3">
          <div className="grid gap-3 sm:grid-cols-3">
            <Field label="Name" error={issueAt(error, 'name')}>
              {(ids) => (
                <Input
                  {...ids}
                  maxLength={200}
                  value={name}
                  onChange={({ target }) => setName(target.value)}
                />
              )}
            </Field>
            <Field label="Times each row is run" error={issueAt(error, 'iterations')}>
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  required
                  min={1}
                  max={1000}
                  value={iterations}
                  onChange={({ target }) => setIterations(target.value)}
                />
              )}
            </Field>
            <Field label="Runs at the same time" error={issueAt(error, 'concurrency')}>
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  required
                  min={1}
                  max={100}
                  value={concurrency}
                  onChange={({ target }) => setConcurrency(target.value)}
                />
              )}
            </Field>
          </div>
          <SystemParams
            params={snapshot?.systemParams.map((param) => ({ ...param, isRequired: false })) ?? []}
            given={given}
            onChange={setGiven}
            error={issueAt(error, 'systemParams')}
          />
          <p className="text-xs text-muted">
            All of it runs with version {network.currentVersion}, whatever is published meanwhile.
          </p>
        </div>
      </Card>
      {rest && <Notice tone="bad">{rest}</Notice>}
      <div className="flex gap-2">
        <Button type="submit" kind="primary" busy={busy} disabled={!preview} icon={<Play size={14} />}>
          Begin
          {preview && preview.count > 0 && data.length <= 2_000_000
            ? ` ${formatNumber(preview.count * Math.max(1, Number(iterations) || 1))} runs`
            : ''}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
