import type { McpServer } from '@troupe/protocol';
import { definitionOf } from '../../definitions/mcp-servers/index.ts';
import type { McpServerRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentMcpServer(row: McpServerRow): McpServer {
  const { id, created_at: createdAt, updated_at: updatedAt } = row;
  return isoTimes({ id, ...definitionOf(row), createdAt, updatedAt });
}
