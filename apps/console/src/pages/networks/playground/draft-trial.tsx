import { Json } from '@troupe/ui';
import { useState } from 'react';
import { SelectField, TextAreaField } from '../../../blocks/field.tsx';
import { Form } from '../../../blocks/form.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Empty, Notice } from '../../../blocks/states.tsx';
import { troupe } from '../../../data/client.ts';
import { defaultAgentOf } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';
import { DecisionTrial } from './decision-trial.tsx';

/** What can be known of a draft before anything runs. */
export function DraftTrial({ draft }: { draft: Draft }) {
  const { definition } = draft;
  const [agent, setAgent] = useState('');
  const key = agent || (defaultAgentOf(definition) ?? '');
  if (definition.agents.length === 0)
    return <Empty title="No agents yet">Add one on the graph, and save it.</Empty>;
  return (
    <div className="flex flex-col gap-4 p-4">
      {draft.isChanged && (
        <Notice tone="warn">What is asked is the draft as it is saved: your last changes are not.</Notice>
      )}
      <SelectField
        label="Agent"
        className="max-w-xs"
        value={key}
        onChange={setAgent}
        options={definition.agents.map((one) => [one.key, one.key])}
      />
      <PromptTrial networkId={draft.networkId} agent={key} />
      <DecisionTrial draft={draft} agent={key} />
    </div>
  );
}

type Prompt = Awaited<ReturnType<ReturnType<typeof troupe.network>['prompt']>>;

function PromptTrial({ networkId, agent }: { networkId: string; agent: string }) {
  const [input, setInput] = useState('');
  const [prompt, setPrompt] = useState<Prompt | null>(null);
  return (
    <Card title="Prompt">
      <Form
        submit="Show prompt"
        act={() => troupe.network(networkId).prompt({ draft: true, agent, input })}
        onDone={setPrompt}
      >
        <TextAreaField label="Input" path="input" rows={2} value={input} onChange={setInput} />
      </Form>
      {prompt && (
        <div className="mt-4 flex flex-col gap-3">
          <Json value={prompt.system} label="System prompt" lines={40} />
          <Json value={prompt.messages} label="Messages" />
          <Json value={prompt.tools} label="Tools" lines={12} />
        </div>
      )}
    </Card>
  );
}
