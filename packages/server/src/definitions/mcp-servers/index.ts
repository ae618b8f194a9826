/**
 * definitions/mcp-servers: MCP servers as rows, and the import of their tools. `tools/mcp/` connects to them.
 * Imports: definitions/tools, store, base, protocol.
 * Start reading: servers.ts (rows), import.ts (their tools as tools of the project).
 */
export { importFromMcpServer } from './import.ts';
export type { McpPort } from './port.ts';
export {
  createMcpServer,
  definitionOf,
  deleteMcpServer,
  getMcpServer,
  listMcpServers,
  updateMcpServer,
} from './servers.ts';
export { testMcpServer } from './test.ts';
