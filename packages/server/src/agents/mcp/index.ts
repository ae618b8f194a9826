export { importFromMcpServer } from './import.ts';
export type { McpPort, Offer, OfferedTool } from './port.ts';
export {
  createMcpServer,
  deleteMcpServer,
  getMcpServer,
  listMcpServers,
  updateMcpServer,
} from './servers.ts';
export { testMcpServer } from './test.ts';
