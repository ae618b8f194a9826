import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { CodeArea, jsonProblem } from '../../../blocks/code-area.tsx';
import { Field, optionsOf, SelectField } from '../../../blocks/field.tsx';
import { Form } from '../../../blocks/form.tsx';
import { Card } from '../../../blocks/page.tsx';
import { troupe } from '../../../data/client.ts';
import type { Draft } from '../draft/use-draft.ts';
import { Verdict } from './step-list.tsx';

type Kind = 'RESPOND' | 'ROUTE_TO_AGENT' | 'USE_TOOL';
const kinds: Record<Kind, string> = {
  RESPOND: 'Respond',
  ROUTE_TO_AGENT: 'Hand over',
  USE_TOOL: 'Call a tool',
};

type Checked = Awaited<ReturnType<ReturnType<typeof troupe.network>['check']>>;

/** Checks one decision of an agent as the runtime would. */
export function DecisionTrial({ draft, agent }: { draft: Draft; agent: string }) {
  const { definition, networkId } = draft;
  const [kind, setKind] = useState<Kind>('ROUTE_TO_AGENT');
  const [target, setTarget] = useState('');
  const [params, setParams] = useState('{}');
  const options =
    kind === 'USE_TOOL' ? definition.tools.map(({ key }) => key) : definition.agents.map(({ key }) => key);
  const chosen = options.includes(target) ? target : (options[0] ?? '');
  const problem = kind === 'ROUTE_TO_AGENT' ? null : jsonProblem(params);
  const [verdict, setVerdict] = useState<Checked | null>(null);
  const check = () => {
    const action: Api.Instruction['action'] =
      kind === 'RESPOND'
        ? { type: kind, payload: JSON.parse(params) }
        : kind === 'USE_TOOL'
          ? { type: kind, tool: chosen, params: JSON.parse(params) }
          : { type: kind, agent: chosen };
    return troupe.network(networkId).check({ draft: true, agent, instruction: { action } });
  };
  return (
    <Card title="Decisions">
      <Form submit="Check decision" isIncomplete={problem !== null} act={check} onDone={setVerdict}>
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
      </Form>
      {verdict && (
        <p className="mt-4 flex flex-wrap items-center gap-2 text-sm">
          <Verdict status={verdict.status} code={verdict.code} />
          <span className="min-w-0 break-words text-muted">{verdict.message}</span>
        </p>
      )}
    </Card>
  );
}
