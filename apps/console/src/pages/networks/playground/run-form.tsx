import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { CodeArea, jsonProblem } from '../../../blocks/code-area.tsx';
import { Checkbox, Field, SelectField, TextArea } from '../../../blocks/field.tsx';
import { Form } from '../../../blocks/form.tsx';
import { troupe } from '../../../data/client.ts';
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
  const current = network.currentVersion!;
  const [version, setVersion] = useState('');
  const [agent, setAgent] = useState('');
  const [input, setInput] = useState('');
  const [isJson, setJson] = useState(false);
  const [given, setGiven] = useState<Record<string, string>>({});
  const { data: snapshot } = useQuery(snapshotQuery(network.id, Number(version) || current));
  const versions = useQuery({
    queryKey: ['networks', network.id, 'versions', 'newest'],
    queryFn: async () =>
      (await troupe.networks.versions({ params: { network: network.id }, query: { limit: 50 } })).data,
  });
  const problem = isJson ? jsonProblem(input) : null;
  return (
    <Form
      label="Run"
      submit="Run network"
      isIncomplete={problem !== null}
      act={() =>
        troupe.network(network.id).invoke({
          input: isJson ? JSON.parse(input) : input,
          ...(version === '' ? {} : { version: Number(version) }),
          ...(agent === '' ? {} : { agent }),
          systemParams: valuesOf(snapshot?.systemParams ?? [], given),
        })
      }
      changes="runs"
      onDone={({ id }) => onStarted(id)}
    >
      <Field label="Input" path="input" error={problem?.message}>
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
      <Checkbox label="The input is a JSON object" checked={isJson} onChange={setJson} />
      <div className="grid grid-cols-2 gap-2">
        <SelectField
          label="Version"
          first={`Current (${current})`}
          value={version}
          onChange={setVersion}
          options={(versions.data ?? []).map(({ version: one }) => [String(one), `Version ${one}`])}
        />
        <SelectField
          label="First agent"
          path="agent"
          first={snapshot?.defaultAgent ?? 'The default'}
          value={agent}
          onChange={setAgent}
          options={(snapshot?.agents ?? [])
            .filter((key) => key !== snapshot?.defaultAgent)
            .map((key) => [key, key])}
        />
      </div>
      <SystemParams params={snapshot?.systemParams ?? []} given={given} onChange={setGiven} />
    </Form>
  );
}
