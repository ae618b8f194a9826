import type { Agent, AgentVersion, CarriedCapability } from '@troupe/protocol';
import { definitionOf } from '../../definitions/agents/index.ts';
import type { AgentCapabilityRow, AgentRow, AgentVersionRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentAgent(row: AgentRow): Agent {
  return isoTimes({
    ...definitionOf(row),
    id: row.id,
    entityId: row.entity_id,
    version: row.version,
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  });
}

/** A person talks with an agent; how it was made is its maker's. */
export function presentAgentToPerson(row: AgentRow): Agent {
  const agent = presentAgent(row);
  const capabilities = agent.capabilities.map(({ id }) => ({ id, config: {} }));
  return {
    ...agent,
    systemPrompt: '',
    capabilities,
    tools: [],
    inlineTools: [],
    approvals: [],
    compaction: {},
    metadata: {},
  };
}

export function presentCarried(row: AgentCapabilityRow): CarriedCapability {
  return isoTimes({
    id: row.id,
    agentId: row.agent_id,
    capabilityId: row.capability_id,
    position: row.position,
    config: row.config,
    createdAt: row.created_at,
  });
}

export function presentAgentVersion(row: AgentVersionRow): AgentVersion {
  return isoTimes({
    agentId: row.agent_id,
    version: row.version,
    checksum: row.checksum,
    notes: row.notes,
    definition: row.definition,
    createdAt: row.created_at,
  });
}
