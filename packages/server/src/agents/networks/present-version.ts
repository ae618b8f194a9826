import { type Network, type NetworkVersion, networkDefinition } from '@troupe/protocol';
import type { NetworkRow, NetworkVersionRow } from '../../store/index.ts';

export function presentNetworkVersion(row: NetworkVersionRow): NetworkVersion {
  return {
    networkId: row.network_id,
    version: row.version,
    checksum: row.checksum,
    notes: row.notes,
    createdBy: row.created_by,
    publishedBy: row.published_by,
    publishedAt: row.published_at.toISOString(),
    isCurrent: row.is_current,
  };
}

const plain = networkDefinition.omit({ tools: true, agents: true });

export function presentNetwork(row: NetworkRow): Network {
  const { name, description, policy, response, log_policy: logPolicy, metadata } = row;
  return {
    ...plain.parse({ name, description, policy, response, logPolicy, metadata }),
    id: row.id,
    status: row.status,
    currentVersion: row.current_version,
    agentCount: Number(row.agent_count),
    toolCount: Number(row.tool_count),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
