export { McpConnections, type McpSettings } from './connections.ts';
export { checkMcpTool, mcpServers, mcpTool } from './mcp.ts';
