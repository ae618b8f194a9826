import type { Json, NetworkAgentDefinition, NetworkDefinition } from '@troupe/protocol';
import { delegation } from '../capabilities/index.ts';
import type { CompiledTool, NetworkFound } from './compile.ts';
import { parametersOf } from './params.ts';

// An agent of a network that is one of the project, and as such gives tasks, gives them in the network as well. What it gives in the background
// nobody could tell it of: the run has ended by then.

const TOOLS = delegation.tools.filter(({ name }) => name !== 'create_task');
const BETWEEN = '\n\n---\n\n';

export function isDelegating({ agentId }: NetworkAgentDefinition, { delegates }: NetworkFound): boolean {
  return agentId !== null && (delegates?.has(agentId.toLowerCase()) ?? false);
}

/** What such an agent has beside its own. */
export const withDelegation = {
  prompt: (prompt: string) => [delegation.prompt, prompt].filter((part) => part !== '').join(BETWEEN),
  tools: (own: readonly string[]) => [...own, ...TOOLS.map(({ name }) => name)],
};

/** Tools of the network with these names stay what they are. How many tasks there may be is the network's policy. */
export function delegationTools(
  { agents, policy }: NetworkDefinition,
  found: NetworkFound,
  named: readonly CompiledTool[],
): CompiledTool[] {
  const first = agents.find((agent) => isDelegating(agent, found));
  if (!first) return [];
  const set = found.delegates!.get(first.agentId!.toLowerCase())!;
  const taken = new Set(named.map(({ key }) => key.toLowerCase()));
  return TOOLS.filter(({ name }) => !taken.has(name)).map((tool) => {
    const { params, inputSchema } = parametersOf(tool.inputSchema, null);
    const most = { depth: policy.taskDepth, tasks: policy.runTasks };
    return {
      key: tool.name,
      description: tool.description,
      params,
      tool: { ...tool, inputSchema, config: { ...set, ...most, params: params as Json } },
    };
  });
}
