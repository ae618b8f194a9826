import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { CodeArea } from '../../blocks/code-area.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';

/** A file of an agent: Markdown with front matter, YAML or JSON, chosen or pasted. */
export function ImportAgent({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const send = useMutation({
    mutationFn: () => troupe.agents.importOne({ body: text }),
    onSuccess: (agent) => {
      say(`${agent.name} is at version ${agent.version}.`);
      void client.invalidateQueries({ queryKey: ['agents'] });
      void navigate({ to: '/agents/$agentId', params: { agentId: agent.id } });
    },
  });
  return (
    <Dialog open onClose={onClose} title="Import an agent" wide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate();
        }}
      >
        <p className="text-sm text-muted">
          Markdown with front matter, YAML or JSON, as an export gives it. The agent of that name becomes what
          the file says, all of it; where there is none, it is made.
        </p>
        <Field label="File">
          {(ids) => (
            <input
              {...ids}
              type="file"
              accept=".md,.markdown,.yaml,.yml,.json,.txt"
              className="text-sm"
              onChange={async ({ target }) => {
                const file = target.files?.[0];
                if (file) setText(await file.text());
              }}
            />
          )}
        </Field>
        <Field label="Text">
          {(ids) => (
            <CodeArea
              {...ids}
              rows={12}
              mostRows={18}
              value={text}
              onChange={setText}
              placeholder={'---\nname: Grace\ncapabilities:\n  - id: current_time\n---\n\nYou are Grace.'}
            />
          )}
        </Field>
        {send.error && <Notice tone="bad">{messageOf(send.error)}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={text.trim() === ''} busy={send.isPending}>
            Import
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
