import { type NetworkDefinition, networkDefinition } from '@troupe/protocol';
import type { NetworkRows } from '../../store/index.ts';

/** The rows of a network as the one document that people edit. Parsed, since a row may have been written before a field was known. */
export function definitionOf({ network, tools, agents }: NetworkRows): NetworkDefinition {
  const toolKeys = new Map(tools.map(({ tool_id, key }) => [tool_id, key]));
  const agentKeys = new Map(agents.map(({ id, key }) => [id, key]));
  return networkDefinition.parse({
    name: network.name,
    description: network.description,
    policy: network.policy,
    response: network.response,
    logPolicy: network.log_policy,
    metadata: network.metadata,
    tools: tools.map(({ key, description, params }) => ({ key, description, params })),
    agents: agents.map((agent) => ({
      key: agent.key,
      agentId: agent.agent_id,
      displayName: agent.display_name,
      description: agent.description,
      prompt: agent.prompt,
      modelId: agent.model_id,
      allowRespond: agent.allow_respond,
      allowTaskGroup: agent.allow_task_group,
      isDefault: agent.is_default,
      tools: agent.tools.map((id) => toolKeys.get(id)),
      routes: agent.routes.map((id) => agentKeys.get(id)),
      metadata: agent.metadata,
    })),
  });
}
