import { memo } from 'react';
import { Avatar } from '../basic/avatar.tsx';
import { StopIcon } from '../basic/icons.tsx';
import { Duration } from '../basic/time.tsx';

/** `ActiveAgent` of the hooks is one. */
export interface AgentAtWork {
  entityId: string;
  agentName: string | null;
  runIds?: readonly string[] | undefined;
  /** Default: `thinking`. */
  activity?: 'thinking' | 'calling' | 'writing' | 'waiting' | undefined;
  /** Such as the name of the tool that it calls. */
  detail?: string | null | undefined;
  since?: string | null | undefined;
}

export interface ActiveAgentsProps {
  agents: readonly AgentAtWork[];
  /** People who are typing. */
  typing?: readonly { entityId: string; name: string | null }[] | undefined;
  onStop?: ((agent: AgentAtWork) => Promise<void> | void) | undefined;
  /** How many are shown one by one. Default: 4. */
  most?: number | undefined;
}

const words = { thinking: 'thinking', calling: 'calling', writing: 'writing', waiting: 'waiting' } as const;

/** Who is about to say something. Heard as one sentence whenever it changes, not with every token. */
export const ActiveAgents = memo(function ActiveAgents(props: ActiveAgentsProps) {
  const { agents, typing = [], onStop, most = 4 } = props;
  const shown = agents.slice(0, most);
  const more = agents.length - shown.length;
  return (
    <div className="troupe-active">
      <p className="troupe-hidden" aria-live="polite">
        {sentence(agents, typing)}
      </p>
      {shown.map((agent) => (
        <span key={agent.entityId} className="troupe-active-agent">
          <Avatar name={agent.agentName} id={agent.entityId} type="agent" size="small" active />
          <span className="troupe-active-name">{agent.agentName ?? 'Agent'}</span>
          <span className="troupe-active-what">
            {words[agent.activity ?? 'thinking']}
            {agent.detail ? ` ${agent.detail}` : '…'}
          </span>
          {agent.since && <Duration from={agent.since} />}
          {onStop && (
            <button
              type="button"
              className="troupe-button troupe-button-quiet troupe-button-icon"
              aria-label={`Stop ${agent.agentName ?? 'the agent'}`}
              title="Stop"
              onClick={() => onStop(agent)}
            >
              <StopIcon />
            </button>
          )}
        </span>
      ))}
      {more > 0 && <span className="troupe-active-more">and {more} more</span>}
      {typing.length > 0 && <span className="troupe-active-typing">{typingSentence(typing)}</span>}
    </div>
  );
});

const listed = new Intl.ListFormat('en', { type: 'conjunction' });

function sentence(
  agents: ActiveAgentsProps['agents'],
  typing: NonNullable<ActiveAgentsProps['typing']>,
): string {
  const names = agents.slice(0, 3).map(({ agentName }) => agentName ?? 'An agent');
  if (agents.length > 3) names.push(`${agents.length - 3} more`);
  const working =
    names.length > 0 ? `${listed.format(names)} ${names.length > 1 ? 'are' : 'is'} at work.` : '';
  return [working, typing.length > 0 && typingSentence(typing)].filter(Boolean).join(' ');
}

function typingSentence(typing: NonNullable<ActiveAgentsProps['typing']>): string {
  const names = typing.slice(0, 2).map(({ name }) => name ?? 'Somebody');
  if (typing.length > 2) names.push(`${typing.length - 2} more`);
  return `${listed.format(names)} ${names.length > 1 ? 'are' : 'is'} typing…`;
}
