import { useMutation } from '@tanstack/react-query';
import { Json } from '@troupe/ui';
import { type FormEvent, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { SelectField, TextAreaField } from '../../../blocks/field.tsx';
import { Card } from '../../../blocks/page.tsx';
import { Empty, Failure, Notice } from '../../../blocks/states.tsx';
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

function PromptTrial({ networkId, agent }: { networkId: string; agent: string }) {
  const [input, setInput] = useState('');
  const ask = useMutation({
    mutationFn: () => troupe.network(networkId).prompt({ draft: true, agent, input }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate();
  };
  return (
    <Card title="What it would be told">
      <form onSubmit={submit} className="flex flex-col gap-3">
        <TextAreaField label="Input" rows={2} value={input} onChange={setInput} />
        <Button type="submit" busy={ask.isPending} className="self-start">
          Show the prompt
        </Button>
        {ask.error && <Failure error={ask.error} className="py-4" />}
        {ask.data && (
          <div className="flex flex-col gap-3">
            <Json value={ask.data.system} label="System prompt" lines={40} />
            <Json value={ask.data.messages} label="Messages" />
            <Json value={ask.data.tools} label="Tools" lines={12} />
          </div>
        )}
      </form>
    </Card>
  );
}
