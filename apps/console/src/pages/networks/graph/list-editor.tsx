import { useQuery } from '@tanstack/react-query';
import { Plus, TriangleAlert } from 'lucide-react';
import { Button } from '../../../blocks/button.tsx';
import { Select } from '../../../blocks/field.tsx';
import { Empty } from '../../../blocks/states.tsx';
import { Tag } from '../../../blocks/tag.tsx';
import { agentsQuery } from '../../../data/queries.ts';
import { type AgentDefinition, addAgent, freeKey, sameKey } from '../draft/definition.ts';
import { AgentForm } from './agent-form.tsx';
import type { EditorProps } from './graph-tab.tsx';
import { ContractForm } from './network-panel.tsx';
import { agentIn } from './problem-list.tsx';
import { RouteForm } from './route-form.tsx';

/** The same network as forms, one agent below the other: for screen readers, small screens and whoever likes it better. */
export default function ListEditor({ draft, checked: { trial }, search, go }: EditorProps) {
  const { definition, isFixed } = draft;
  const { data: projectAgents = [] } = useQuery(agentsQuery);
  const add = (agentId: string | null) => {
    const lender = projectAgents.find(({ id }) => id === agentId);
    const key = freeKey(definition, lender?.name ?? 'agent');
    draft.edit((now) =>
      addAgent(now, lender ? { key, agentId: lender.id, displayName: lender.name } : { key }),
    );
    go({ agent: key });
  };
  return (
    <div className="h-full overflow-y-auto px-4 py-5 md:px-6">
      <div className="mx-auto flex max-w-3xl flex-col gap-5">
        {!isFixed && (
          <div className="flex flex-wrap gap-2">
            <Button icon={Plus} onClick={() => add(null)}>
              Add an own agent
            </Button>
            <Select
              aria-label="Add an agent of the project"
              className="w-auto! max-w-full"
              value=""
              onChange={({ target }) => target.value && add(target.value)}
            >
              <option value="">Add an agent of the project…</option>
              {projectAgents.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
          </div>
        )}
        {definition.agents.length === 0 ? (
          <Empty title="No agents yet">The first agent that you add is where runs begin.</Empty>
        ) : (
          <ul aria-label="Agents" className="flex flex-col gap-2">
            {definition.agents.map((agent) => (
              <li key={agent.key}>
                <OneAgent
                  agent={agent}
                  isOpen={search.agent !== undefined && sameKey(search.agent, agent.key)}
                  onToggle={(isOpen) => {
                    if (isOpen) go({ agent: agent.key });
                    else if (search.agent !== undefined && sameKey(search.agent, agent.key))
                      go({ agent: undefined });
                  }}
                  problems={trial.problems
                    .filter(({ path }) => agentIn(path, definition) === agent.key)
                    .map(({ message }) => message)}
                >
                  <AgentForm draft={draft} agent={agent} onRename={(key) => go({ agent: key })} />
                </OneAgent>
              </li>
            ))}
          </ul>
        )}
        {!isFixed && <RouteForm draft={draft} />}
        <ContractForm draft={draft} />
      </div>
    </div>
  );
}

function OneAgent({
  agent,
  isOpen,
  onToggle,
  problems,
  children,
}: {
  agent: AgentDefinition;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
  problems: string[];
  children: React.ReactNode;
}) {
  return (
    <details
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open !== isOpen && onToggle(currentTarget.open)}
      className="rounded-lg border border-line bg-surface"
    >
      <summary className="flex flex-wrap items-center gap-2 rounded-lg px-4 py-2.5">
        <span className="min-w-0 truncate text-sm font-medium">{agent.displayName || agent.key}</span>
        {agent.isDefault && <Tag tone="accent">start</Tag>}
        {agent.allowRespond && <Tag tone="good">responds</Tag>}
        {problems.length > 0 && (
          <Tag tone="bad">
            <TriangleAlert size={11} aria-hidden="true" />
            {problems.length === 1 ? '1 problem' : `${problems.length} problems`}
          </Tag>
        )}
        <span className="w-full truncate text-xs text-muted">
          {agent.routes.length > 0 ? `routes to ${agent.routes.join(', ')}` : 'routes to nobody'}
          {agent.tools.length > 0 && ` · ${agent.tools.join(', ')}`}
        </span>
      </summary>
      <div className="flex flex-col gap-3 border-t border-line p-4">
        {problems.map((message) => (
          <p key={message} className="text-sm text-bad">
            {message}
          </p>
        ))}
        {isOpen && children}
      </div>
    </details>
  );
}
