/**
 * tools: what executes the calls of models: builtin/ (those of capabilities), and one folder or file per other provider.
 * Imports: types of kernel/ports.ts, outgoing, base, protocol; what it needs of the rest is given to it (ports.ts).
 * Start reading: tools.ts.
 */
export {
  type CodeFunctions,
  type CodeTool,
  type CodeToolContext,
  codeFunctions,
  defineTools,
  tool,
} from './code/index.ts';
export { McpConnections, mcpServers } from './mcp/index.ts';
export type {
  Files,
  Findings,
  MemoryPart,
  PlansPart,
  SecretValues,
  SystemParams,
  Todos,
  ToolParts,
} from './ports.ts';
export { createTools } from './tools.ts';
