import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useMemo, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { CodeArea } from '../../../blocks/code-area.tsx';
import { Field, Input, SelectField, TextField } from '../../../blocks/field.tsx';
import { Form } from '../../../blocks/form.tsx';
import { Card } from '../../../blocks/page.tsx';
import { say } from '../../../blocks/toast.tsx';
import { troupe } from '../../../data/client.ts';
import { formatBytes, formatNumber } from '../../../data/format.ts';
import { snapshotQuery } from '../playground/snapshot.ts';
import { SystemParams, valuesOf } from '../playground/system-params.tsx';
import { MappingPreview } from './mapping-preview.tsx';
import { type FileFormat, guessFormat, previewOf } from './rows.ts';

const MAX_BYTES = 16_000_000;
/** Longer data is not put into the text field. */
const MAX_EDITED = 200_000;
/** The preview parses no more than this. */
const MAX_PREVIEWED = 2_000_000;

/** Creates a batch from a file or pasted data. */
export function NewBatch({
  network,
  onCancel,
  onMade,
}: {
  network: Api.Network;
  onCancel: () => void;
  onMade: (batch: Api.Batch) => void;
}) {
  const [data, setData] = useState('');
  const [fileName, setFileName] = useState('');
  const [format, setFormat] = useState<FileFormat | 'guess'>('guess');
  const [name, setName] = useState('');
  const [iterations, setIterations] = useState('1');
  const [concurrency, setConcurrency] = useState('5');
  const [given, setGiven] = useState<Record<string, string>>({});
  const [tooLarge, setTooLarge] = useState<string | null>(null);
  const { data: snapshot } = useQuery({
    ...snapshotQuery(network.id, network.currentVersion ?? 0),
    enabled: network.currentVersion !== null,
  });
  const chosen = format === 'guess' ? guessFormat(data, fileName) : format;
  const preview = useMemo(
    () => (data.trim() === '' ? null : previewOf(data.slice(0, MAX_PREVIEWED), chosen)),
    [data, chosen],
  );
  const runs =
    preview && preview.count > 0 && data.length <= MAX_PREVIEWED
      ? formatNumber(preview.count * Math.max(1, Number(iterations) || 1))
      : '';
  const take = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > MAX_BYTES)
      return setTooLarge(`“${file.name}” has ${formatBytes(file.size)}. The limit is 16 MB.`);
    setTooLarge(null);
    setData(await file.text());
    setFileName(file.name);
    if (name === '') setName(file.name.replace(/\.\w+$/, ''));
  };
  return (
    <Form
      label="Create batch"
      className="max-w-5xl"
      submit={`Start ${runs} runs`}
      isIncomplete={!preview}
      actions={<Button onClick={onCancel}>Cancel</Button>}
      act={() =>
        troupe.batches.create({
          params: { network: network.id },
          body: {
            format: chosen,
            data,
            iterations: Number(iterations),
            concurrency: Number(concurrency),
            systemParams: valuesOf(snapshot?.systemParams ?? [], given),
            name: name.trim() || null,
          },
        })
      }
      changes="batches"
      onDone={(batch) => {
        say(`Started a batch of ${formatNumber(batch.counts.total)} runs.`);
        onMade(batch);
      }}
    >
      <Card title="Inputs">
        <div className="flex flex-col gap-3">
          <div className="grid gap-3 sm:grid-cols-2">
            <Field label="File" hint="CSV or JSONL, 16 MB at most." error={tooLarge}>
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
            <SelectField
              label="Format"
              value={format}
              onChange={setFormat}
              options={[
                ['guess', <>As it looks ({chosen === 'csv' ? 'CSV' : 'JSONL'})</>],
                ['csv', 'CSV'],
                ['jsonl', 'JSONL'],
              ]}
            />
          </div>
          {data.length > MAX_EDITED ? (
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
          {preview && <MappingPreview preview={preview} isPart={data.length > MAX_PREVIEWED} />}
        </div>
      </Card>
      <Card title="How it is run">
        <div className="flex flex-col gap-3">
          <div className="grid gap-3 sm:grid-cols-3">
            <TextField label="Name" path="name" maxLength={200} value={name} onChange={setName} />
            <TextField
              label="Runs per row"
              path="iterations"
              type="number"
              required
              min={1}
              max={1000}
              value={iterations}
              onChange={setIterations}
            />
            <TextField
              label="Concurrent runs"
              path="concurrency"
              type="number"
              required
              min={1}
              max={100}
              value={concurrency}
              onChange={setConcurrency}
            />
          </div>
          <SystemParams
            params={snapshot?.systemParams.map((param) => ({ ...param, isRequired: false })) ?? []}
            given={given}
            onChange={setGiven}
          />
          <p className="text-xs text-muted">
            All runs use version {network.currentVersion}, even if another version is published later.
          </p>
        </div>
      </Card>
    </Form>
  );
}
