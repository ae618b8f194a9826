import { Link, useNavigate } from '@tanstack/react-router';
import type { Session } from '@troupe/sdk';
import { Avatar } from '@troupe/ui';
import { useRef, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Dialog } from '../../blocks/dialog.tsx';
import { Input, TextAreaField } from '../../blocks/field.tsx';
import { Form } from '../../blocks/form.tsx';
import { Empty, Loading } from '../../blocks/states.tsx';
import { sessionAddress } from '../../data/addresses.ts';
import { troupe } from '../../data/client.ts';
import { useAgents } from '../../data/names.ts';
import { suggestionsFor } from './words.ts';

/** Creates a session with an agent, optionally with a first message. */
export function NewSession({ agentId, onClose }: { agentId: string | null; onClose: () => void }) {
  const agents = useAgents();
  const navigate = useNavigate();
  const [chosen, setChosen] = useState(agentId);
  const [text, setText] = useState('');
  const [wanted, setWanted] = useState('');
  const opened = useRef<Session | null>(null);
  const agent = agents?.find(({ id }) => id === chosen) ?? (chosen ? undefined : agents?.[0]);

  const found = agents?.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <Dialog open onClose={onClose} title="Create session">
      {!agents ? (
        <Loading />
      ) : agents.length === 0 ? (
        <Empty
          title="No agents yet"
          action={
            <Link to="/agents" className="text-sm text-accent underline">
              Create agent
            </Link>
          }
        >
          A session needs an agent.
        </Empty>
      ) : (
        <Form
          submit={text.trim() ? 'Create and send' : 'Create session'}
          isIncomplete={!agent}
          actions={<Button onClick={onClose}>Cancel</Button>}
          act={async () => {
            // If only the message was rejected, the next attempt reuses the session.
            const session =
              opened.current?.agentId === agent!.id ? opened.current : await troupe.open(agent!.id);
            opened.current = session;
            if (text.trim()) await session.send(text.trim());
            return session;
          }}
          changes="sessions"
          onDone={(session) => {
            void navigate({ to: sessionAddress(session.agentId, session.id) });
          }}
        >
          {agents.length > 8 && (
            <Input
              type="search"
              aria-label="Find an agent"
              placeholder="Find an agent"
              value={wanted}
              onChange={({ target }) => setWanted(target.value)}
            />
          )}
          <fieldset className="flex min-w-0 flex-col gap-1">
            <legend className="mb-1 text-xs font-medium text-muted">Agent</legend>
            <div className="flex max-h-64 flex-col gap-1 overflow-y-auto p-0.5">
              {found?.map(({ id, name, description }) => (
                <label
                  key={id}
                  className={cx(
                    'flex cursor-pointer items-center gap-2.5 rounded-md border px-2.5 py-1.5 has-focus-visible:border-accent',
                    agent?.id === id ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover',
                  )}
                >
                  <input
                    type="radio"
                    name="agent"
                    className="sr-only"
                    checked={agent?.id === id}
                    onChange={() => setChosen(id)}
                  />
                  <Avatar name={name} id={id} type="agent" size="small" />
                  <span className="min-w-0">
                    <span className="block truncate text-sm font-medium" title={name}>
                      {name}
                    </span>
                    {description && (
                      <span className="block truncate text-xs text-faint" title={description}>
                        {description}
                      </span>
                    )}
                  </span>
                </label>
              ))}
              {found?.length === 0 && <p className="p-2 text-sm text-muted">No agents match.</p>}
            </div>
          </fieldset>
          <TextAreaField label="First message" hint="Optional." rows={3} value={text} onChange={setText} />
          <div className="flex flex-wrap gap-1">
            {suggestionsFor(agent).map((suggestion) => (
              <button
                key={suggestion}
                type="button"
                onClick={() => setText(suggestion)}
                className="rounded-full border border-line px-2.5 py-1 text-left text-xs text-muted hover:border-line-strong hover:bg-hover hover:text-text"
              >
                {suggestion}
              </button>
            ))}
          </div>
        </Form>
      )}
    </Dialog>
  );
}
