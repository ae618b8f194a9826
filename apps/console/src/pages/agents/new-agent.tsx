import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Input, TextArea } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';

/** A name and a prompt are enough to begin with; the rest is on the agent's page. */
export function NewAgent({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [prompt, setPrompt] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: () => troupe.agents.create({ body: { name, systemPrompt: prompt } }),
    onSuccess: (agent) => {
      void client.invalidateQueries({ queryKey: ['agents'] });
      void navigate({ to: '/agents/$agentId', params: { agentId: agent.id } });
    },
  });
  const rest = restOf(create.error, ['name', 'systemPrompt']);
  return (
    <Dialog open onClose={onClose} title="New agent">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Field label="Name" error={issueAt(create.error, 'name')}>
          {(ids) => (
            <Input
              {...ids}
              required
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field
          label="Prompt"
          hint="What the model is told before the conversation."
          error={issueAt(create.error, 'systemPrompt')}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={6}
              placeholder="You help customers of a bicycle shop. Be brief."
              value={prompt}
              onChange={({ target }) => setPrompt(target.value)}
            />
          )}
        </Field>
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={create.isPending}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
