import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, Select } from '../../blocks/field.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { sessionAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';

/** A new session that begins with what was said up to a message. */
export function ForkSession({
  session,
  messageId,
  onClose,
}: {
  session: Api.Session;
  messageId?: string;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const held = troupe.session(session.agentId, session.id);
  const [chosen, setChosen] = useState(messageId);
  const messages = useQuery({
    queryKey: ['sessions', 'said', session.id],
    queryFn: async () => {
      const { data } = await held.messages({ limit: 200 });
      return data.filter(({ role }) => role === 'user' || role === 'assistant').reverse();
    },
  });
  const fork = useMutation({
    mutationFn: (id: string) => held.fork(id),
    onSuccess: (forked) => {
      void client.invalidateQueries({ queryKey: ['sessions'] });
      onClose();
      say('This is the fork. The session that it was made of is as it was.');
      void navigate({ to: sessionAddress(forked.agentId, forked.id) });
    },
  });
  return (
    <Dialog open onClose={onClose} title="Fork the session">
      <Loaded query={messages}>
        {(said) => {
          const id = chosen ?? said[0]?.id;
          if (!id)
            return <p className="text-sm text-muted">Nothing has been said yet that it could begin with.</p>;
          return (
            <div className="flex flex-col gap-4">
              <p className="text-sm text-muted">
                The fork is a session of its own. It begins with everything up to the message that you choose.
              </p>
              <Field label="Up to and with">
                {(ids) => (
                  <Select {...ids} value={id} onChange={({ target }) => setChosen(target.value)}>
                    {said.map((message) => (
                      <option key={message.id} value={message.id}>
                        {lineOf(message)}
                      </option>
                    ))}
                  </Select>
                )}
              </Field>
              {fork.error && <Notice tone="bad">{fork.error.message}</Notice>}
              <div className="flex justify-end gap-2">
                <Button onClick={onClose}>Cancel</Button>
                <Button kind="primary" busy={fork.isPending} onClick={() => fork.mutate(id)}>
                  Fork
                </Button>
              </div>
            </div>
          );
        }}
      </Loaded>
    </Dialog>
  );
}

function lineOf(message: Api.Message): string {
  const text = 'text' in message.content ? message.content.text.replace(/\s+/g, ' ').trim() : '';
  const shown = text.length > 70 ? `${text.slice(0, 70)}…` : text || '(a picture)';
  return `${message.role === 'user' ? 'Person' : 'Agent'}: ${shown}`;
}
