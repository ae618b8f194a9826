import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { SelectField } from '../../blocks/field.tsx';
import { Form } from '../../blocks/form.tsx';
import { Loaded } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { sessionAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';

/** Creates a session from the messages up to one of them. */
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
  const held = troupe.session(session.agentId, session.id);
  const [chosen, setChosen] = useState(messageId);
  const messages = useQuery({
    queryKey: ['sessions', 'said', session.id],
    queryFn: async () => {
      const { data } = await held.messages({ limit: 200 });
      return data.filter(({ role }) => role === 'user' || role === 'assistant').reverse();
    },
  });
  return (
    <Dialog open onClose={onClose} title="Fork session">
      <Loaded query={messages}>
        {(said) => {
          const id = chosen ?? said[0]?.id;
          if (!id) return <p className="text-sm text-muted">This session has no messages to copy yet.</p>;
          return (
            <Form
              submit="Fork session"
              actions={<Button onClick={onClose}>Cancel</Button>}
              act={() => held.fork(id)}
              changes="sessions"
              onDone={(forked) => {
                onClose();
                say('Forked the session. The original did not change.');
                void navigate({ to: sessionAddress(forked.agentId, forked.id) });
              }}
            >
              <p className="text-sm text-muted">
                The fork is a new session with a copy of all messages up to the one that you choose.
              </p>
              <SelectField
                label="Last message"
                value={id}
                onChange={setChosen}
                options={said.map((message) => [message.id, lineOf(message)])}
              />
            </Form>
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
