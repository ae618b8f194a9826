import type { Api } from '@troupe/sdk';
import { TriangleAlert, X } from 'lucide-react';
import { IconButton } from '../../../blocks/button.tsx';
import type { AgentDefinition } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';
import { AgentForm } from './agent-form.tsx';
import { agentIn } from './problem-list.tsx';

/** All of one agent, beside the graph. */
export function AgentPanel({
  draft,
  agent,
  problems,
  onRename,
  onClose,
}: {
  draft: Draft;
  agent: AgentDefinition;
  problems: Api.NetworkProblem[];
  onRename: (key: string) => void;
  onClose: () => void;
}) {
  const own = problems.filter(({ path }) => agentIn(path, draft.definition) === agent.key);
  return (
    <div className="flex flex-col gap-3 p-4">
      <div className="flex items-center gap-2">
        <h2 className="min-w-0 flex-1 truncate text-sm font-semibold" title={agent.key}>
          {agent.displayName || agent.key}
        </h2>
        <IconButton label="Close the panel" icon={X} onClick={onClose} />
      </div>
      {own.length > 0 && (
        <ul className="flex flex-col gap-1 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          {own.map(({ path, code, message }) => (
            <li key={`${path} ${code}`} className="flex gap-1.5">
              <TriangleAlert size={14} aria-hidden="true" className="mt-0.5 shrink-0" />
              <span className="min-w-0 break-words">{message}</span>
            </li>
          ))}
        </ul>
      )}
      <AgentForm draft={draft} agent={agent} onRename={onRename} onRemoved={onClose} />
    </div>
  );
}
