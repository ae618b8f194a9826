import type { Api } from '@troupe/sdk';
import { Chat } from '@troupe/ui';
import { GitFork } from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import { IconButton } from '../../blocks/button.tsx';
import { KnownTools } from '../../blocks/known-tools.tsx';
import { useWide } from '../../blocks/use-wide.ts';
import { useAgents } from '../../data/names.ts';
import { ForkSession } from './fork-session.tsx';
import { suggestionsFor } from './words.ts';

const policies = ['queue', 'steer', 'interrupt'] as const;

/** Apart from its page, since drawing markdown takes a good deal of code. */
export default function SessionChat({ session, agentName }: { session: Api.Session; agentName: string }) {
  const agent = useAgents()?.find(({ id }) => id === session.agentId);
  const suggestions = useMemo(() => suggestionsFor(agent), [agent]);
  const [forkAt, setForkAt] = useState<string | null>(null);
  const isWide = useWide(768);
  const actions = useCallback(
    ({ id }: { id: string }) => (
      <IconButton
        title="Fork from here"
        label="Fork from here"
        icon={GitFork}
        onClick={() => setForkAt(id)}
      />
    ),
    [],
  );
  return (
    <KnownTools>
      <Chat
        agentId={session.agentId}
        sessionId={session.id}
        agentName={agentName}
        // Whoever opens a chat wants to write; on a phone the keyboard would cover it.
        autoFocus={isWide}
        suggestions={suggestions}
        policies={policiesOf(session.policy)}
        // They stand beside the chat already.
        tasks={false}
        messageActions={actions}
        className="h-full"
      />
      {forkAt && <ForkSession session={session} messageId={forkAt} onClose={() => setForkAt(null)} />}
    </KnownTools>
  );
}

/** That of the session first. */
function policiesOf(usual: Api.BusyPolicy) {
  return [...policies].sort((one, other) => Number(other === usual) - Number(one === usual));
}
