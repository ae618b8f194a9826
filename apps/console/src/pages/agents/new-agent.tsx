import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { TextAreaField, TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { troupe } from '../../data/client.ts';

/** A name and a prompt are enough; the page of the agent has the rest. */
export function NewAgent({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [prompt, setPrompt] = useState('');
  const navigate = useNavigate();
  return (
    <FormDialog
      onClose={onClose}
      title="Create agent"
      submit="Create agent"
      act={() => troupe.agents.create({ body: { name, systemPrompt: prompt } })}
      changes="agents"
      onDone={(agent) => navigate({ to: '/agents/$agentId', params: { agentId: agent.id } })}
    >
      <TextField label="Name" path="name" required maxLength={200} value={name} onChange={setName} />
      <TextAreaField
        label="Prompt"
        hint="The system prompt of every conversation."
        path="systemPrompt"
        rows={6}
        placeholder="You help customers of a bicycle shop. Be brief."
        value={prompt}
        onChange={setPrompt}
      />
    </FormDialog>
  );
}
