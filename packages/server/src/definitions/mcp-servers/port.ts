import type { JsonObject, SnapshotMcpServer } from '@troupe/protocol';

/** A tool as a server describes it now. */
export interface OfferedTool {
  name: string;
  title: string | null;
  description: string;
  inputSchema: JsonObject;
  annotations: JsonObject;
  definitionHash: string;
}

export interface Offer {
  /** What the server says of itself. */
  server: { name: string; version: string } | null;
  protocolVersion: string | null;
  tools: OfferedTool[];
}

/** What is asked of whoever speaks to MCP servers. */
export interface McpPort {
  /** Whether the operator allows the project to have this program started. */
  allows(project: string, command: string): Promise<boolean>;
  /** Connects, in bounded time; throws `TroupeError` with a sentence in which no secret shows. */
  offerOf(project: string, server: SnapshotMcpServer, signal: AbortSignal): Promise<Offer>;
}
