import type { Api } from '@troupe/sdk';
import { agentOf, type Definition } from '../draft/definition.ts';

/** Everything that is wrong; each leads to the agent that it is about. */
export function ProblemList({
  problems,
  definition,
  onJump,
}: {
  problems: Api.NetworkProblem[];
  definition: Definition;
  onJump: (agent: string | null) => void;
}) {
  return (
    <ul aria-label="Problems" className="flex flex-col text-sm">
      {problems.map((problem) => {
        const agent = agentIn(problem.path, definition);
        return (
          <li key={`${problem.path} ${problem.code} ${problem.message}`}>
            <button
              type="button"
              onClick={() => onJump(agent)}
              className="flex w-full flex-col rounded-sm px-2 py-1.5 text-left hover:bg-hover"
            >
              <span className="break-words">{problem.message}</span>
              <span className="font-mono text-2xs text-faint">
                {problem.path} · {problem.code}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** Paths name an agent by its key, or by its place in the document. */
export function agentIn(path: string, definition: Definition): string | null {
  const [list, name = ''] = path.split('.');
  if (list !== 'agents' || name === '') return null;
  return (agentOf(definition, name) ?? definition.agents[Number(name)])?.key ?? null;
}
