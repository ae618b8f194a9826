import type { Membership, ShownTool, Space, SpaceMessage, TextContent } from '@troupe/protocol';
import { noteDepth } from '../../doors/spaces/index.ts';
import type { MembershipRow, SpaceMessageRow, SpaceRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentSpace(row: SpaceRow): Space {
  return isoTimes(row);
}

export function presentMembership({ place: _, ...row }: MembershipRow): Membership {
  return isoTimes(row);
}

export function presentSpaceMessage({
  content,
  metadata,
  createdAt,
  ...message
}: SpaceMessageRow): SpaceMessage {
  const { tool, ...said } = content as unknown as TextContent & { tool?: ShownTool };
  return {
    ...message,
    content: said,
    tool: tool ?? null,
    metadata: noteDepth(metadata ?? {}, undefined),
    createdAt: createdAt.toISOString(),
  };
}
