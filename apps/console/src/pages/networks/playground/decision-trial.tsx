import { useMutation } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { CodeArea, jsonProblem } from '../../../blocks/code-area.tsx';
import { Field, optionsOf, SelectField } from '../../../blocks/field.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Failure } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';
import type { Draft } from '../draft/use-draft.ts';
import { Verdict } from './step-list.tsx';

type Kind = 'RESPOND' | 'ROUTE_TO_AGENT' | 'USE_TOOL';
const kinds: Record<Kind, string> = {
  RESPOND: 'Respond',
  ROUTE_TO_AGENT: 'Hand over',
  USE_TOOL: 'Call a tool',
};

/** What the runtime would say to one decision of an agent. */
export function DecisionTrial({ draft, agent }: { draft: Draft; agent: string }) {
  const { definition, networkId } = draft;
  const [kind, setKind] = useState<Kind>('ROUTE_TO_AGENT');
  const [target, setTarget] = useState('');
  const [params, setParams] = useState('{}');
  const options =
    kind === 'USE_TOOL' ? definition.tools.map(({ key }) => key) : definition.agents.map(({ key }) => key);
  const chosen = options.includes(target) ? target : (options[0] ?? '');
  const problem = kind === 'ROUTE_TO_AGENT' ? null : jsonProblem(params);
  const ask = useMutation({
    mutationFn: () => {
      const action: Api.Instruction['action'] =
        kind === 'RESPOND'
          ? { type: kind, payload: JSON.parse(params) }
          : kind === 'USE_TOOL'
            ? { type: kind, tool: chosen, params: JSON.parse(params) }
            : { type: kind, agent: chosen };
      return troupe.network(networkId).check({ draft: true, agent, instruction: { action } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!problem) ask.mutate();
  };
  return (
    <Card title="What it may decide">
      <form onSubmit={submit} className="flex flex-col gap-3">
        <div className="grid gap-3 sm:grid-cols-2">
          <SelectField label="Decision" value={kind} onChange={setKind} options={optionsOf(kinds)} />
          {kind !== 'RESPOND' && (
            <SelectField
              label={kind === 'USE_TOOL' ? 'Tool' : 'To'}
              value={chosen}
              onChange={setTarget}
              options={options.map((key) => [key, key])}
            />
          )}
        </div>
        {kind !== 'ROUTE_TO_AGENT' && (
          <Field label={kind === 'RESPOND' ? 'Payload' : 'Parameters'} error={problem?.message}>
            {(ids) => (
              <CodeArea
                {...ids}
                rows={3}
                value={params}
                errorLine={problem?.line ?? null}
                onChange={setParams}
              />
            )}
          </Field>
        )}
        <Button type="submit" busy={ask.isPending} className="self-start">
          Ask for the verdict
        </Button>
        {ask.error && <Failure error={ask.error} className="py-4" />}
        {ask.data && (
          <p className="flex flex-wrap items-center gap-2 text-sm">
            <Verdict status={ask.data.status} code={ask.data.code} />
            <span className="min-w-0 break-words text-muted">{ask.data.message}</span>
          </p>
        )}
      </form>
    </Card>
  );
}
