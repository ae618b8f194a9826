import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Play } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { CodeArea, jsonProblem } from '../../../blocks/code-area.tsx';
import { Checkbox, Field, Select, TextArea } from '../../../blocks/field.tsx';
import { Notice } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';
import { issueAt, restOf } from '../../../data/issues.ts';
import { EXAMPLE_INPUT } from '../example.ts';
import { snapshotQuery } from './snapshot.ts';
import { SystemParams, valuesOf } from './system-params.tsx';

/** What is asked, of which version, and what its tools get that no agent sees. */
export function RunForm({
  network,
  onStarted,
}: {
  network: Api.Network;
  onStarted: (runId: string) => void;
}) {
  const client = useQueryClient();
  const current = network.currentVersion!;
  const [version, setVersion] = useState<number | null>(null);
  const [agent, setAgent] = useState('');
  const [input, setInput] = useState('');
  const [isJson, setJson] = useState(false);
  const [given, setGiven] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { data: snapshot } = useQuery(snapshotQuery(network.id, version ?? current));
  const versions = useQuery({
    queryKey: ['networks', network.id, 'versions', 'newest'],
    queryFn: async () =>
      (await troupe.networks.versions({ params: { network: network.id }, query: { limit: 50 } })).data,
  });
  const problem = isJson ? jsonProblem(input) : null;
  const run = async (event: FormEvent) => {
    event.preventDefault();
    if (problem) return;
    setBusy(true);
    setError(null);
    try {
      const systemParams = valuesOf(snapshot?.systemParams ?? [], given);
      const started = await troupe.network(network.id).invoke({
        input: isJson ? JSON.parse(input) : input,
        ...(version === null ? {} : { version }),
        ...(agent === '' ? {} : { agent }),
        systemParams,
      });
      await client.invalidateQueries({ queryKey: ['runs'] });
      onStarted(started.id);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const rest = restOf(error, ['input', 'agent', 'systemParams']);
  return (
    <form onSubmit={(event) => void run(event)} aria-label="Run" className="flex flex-col gap-3">
      <Field label="Input" error={problem?.message ?? issueAt(error, 'input')}>
        {(ids) =>
          isJson ? (
            <CodeArea
              {...ids}
              rows={5}
              mostRows={16}
              required
              value={input}
              errorLine={problem?.line ?? null}
              onChange={setInput}
            />
          ) : (
            <TextArea
              {...ids}
              required
              rows={3}
              placeholder={EXAMPLE_INPUT}
              value={input}
              onChange={({ target }) => setInput(target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                  event.currentTarget.form?.requestSubmit();
              }}
            />
          )
        }
      </Field>
      <Checkbox
        label="The input is a JSON object"
        checked={isJson}
        onChange={({ target }) => setJson(target.checked)}
      />
      <div className="grid grid-cols-2 gap-2">
        <Field label="Version">
          {(ids) => (
            <Select
              {...ids}
              value={version ?? ''}
              onChange={({ target }) => setVersion(target.value === '' ? null : Number(target.value))}
            >
              <option value="">Current ({current})</option>
              {versions.data?.map(({ version: one }) => (
                <option key={one} value={one}>
                  Version {one}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Begins with" error={issueAt(error, 'agent')}>
          {(ids) => (
            <Select {...ids} value={agent} onChange={({ target }) => setAgent(target.value)}>
              <option value="">{snapshot?.defaultAgent ?? 'The default'}</option>
              {snapshot?.agents
                .filter((key) => key !== snapshot.defaultAgent)
                .map((key) => (
                  <option key={key} value={key}>
                    {key}
                  </option>
                ))}
            </Select>
          )}
        </Field>
      </div>
      <SystemParams
        params={snapshot?.systemParams ?? []}
        given={given}
        onChange={setGiven}
        error={issueAt(error, 'systemParams')}
      />
      {rest && <Notice tone="bad">{rest}</Notice>}
      <Button type="submit" kind="primary" busy={busy} icon={<Play size={14} />} className="self-start">
        Run
      </Button>
    </form>
  );
}
