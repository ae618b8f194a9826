import { type Agent, type AgentDefinition, type AgentVersion, agentDefinition } from '@troupe/protocol';
import type { AgentRow, AgentVersionRow } from '../../store/index.ts';

/** Parsed, since a row may have been written before a field was known. */
export function definitionOf(row: AgentRow): AgentDefinition {
  return agentDefinition.parse({
    name: row.name,
    description: row.description,
    systemPrompt: row.system_prompt,
    defaultModelId: row.default_model_id,
    tags: row.tags,
    capabilities: row.capabilities,
    tools: row.tools,
    ...row.config,
  });
}

export function presentAgent(row: AgentRow): Agent {
  return {
    ...definitionOf(row),
    id: row.id,
    entityId: row.entity_id,
    version: row.version,
    status: row.status,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

/** A person talks with an agent; how it was made is its maker's. */
export function presentToPerson(row: AgentRow): Agent {
  const agent = presentAgent(row);
  const capabilities = agent.capabilities.map(({ id }) => ({ id, config: {} }));
  return { ...agent, systemPrompt: '', capabilities, tools: [], approvals: [], metadata: {} };
}

export function presentVersion(row: AgentVersionRow): AgentVersion {
  return {
    agentId: row.agent_id,
    version: row.version,
    checksum: row.checksum,
    notes: row.notes,
    definition: row.definition,
    createdAt: row.created_at.toISOString(),
  };
}
