import type { ShownTool, SpaceMessage, TextContent } from '@troupe/protocol';
import type { SpaceMessageRow } from '../../store/index.ts';

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
    metadata: metadata ?? {},
    createdAt: createdAt.toISOString(),
  };
}
