import {
  type JsonObject,
  logPolicy,
  type Network,
  type NetworkVersion,
  networkPolicy,
  responseContract,
} from '@troupe/protocol';
import type { NetworkRow, NetworkVersionRow, WholeNetworkVersionRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

/** Parsed, since a row may have been written before a field was known. */
export function presentNetwork(row: NetworkRow): Network {
  return isoTimes({
    id: row.id,
    name: row.name,
    description: row.description,
    status: row.status,
    currentVersion: row.current_version,
    currentVersionId: row.current_version_id,
    publishedAt: row.published_at,
    policy: networkPolicy.parse(row.policy),
    response: responseContract.parse(row.response),
    logPolicy: logPolicy.parse(row.log_policy),
    metadata: row.metadata,
    agentCount: row.agent_count,
    toolCount: row.tool_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  });
}

export function presentNetworkVersion(row: NetworkVersionRow): NetworkVersion {
  return isoTimes({
    id: row.id,
    networkId: row.network_id,
    version: row.version,
    snapshotId: row.snapshot_id,
    checksum: row.checksum,
    notes: row.notes,
    createdBy: row.created_by,
    createdAt: row.created_at,
    publishedBy: row.published_by,
    publishedAt: row.published_at,
    isCurrent: row.is_current,
  });
}

export function presentWholeNetworkVersion(
  row: WholeNetworkVersionRow,
): NetworkVersion & { snapshot: JsonObject } {
  return { ...presentNetworkVersion(row), snapshot: row.snapshot as unknown as JsonObject };
}
