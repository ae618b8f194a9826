import type { NetworkVersion } from '@troupe/protocol';
import type { NetworkVersionRow } from '../../store/index.ts';

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
