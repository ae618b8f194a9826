import type { Membership, Space } from '@troupe/protocol';
import type { MembershipRow, SpaceRow } from '../../store/index.ts';

export function presentSpace(row: SpaceRow): Space {
  return {
    ...row,
    lastActivityAt: row.lastActivityAt.toISOString(),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentMembership({ place: _, ...row }: MembershipRow): Membership {
  return { ...row, joinedAt: row.joinedAt.toISOString() };
}
