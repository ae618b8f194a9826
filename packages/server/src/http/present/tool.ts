import { type Tool, tool } from '@troupe/protocol';
import { definitionOf } from '../../definitions/tools/index.ts';
import type { ToolRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentTool(row: ToolRow): Tool {
  const { id, agent_id: agentId, version, created_at: createdAt, updated_at: updatedAt } = row;
  return tool.parse(isoTimes({ ...definitionOf(row), id, agentId, version, createdAt, updatedAt }));
}
