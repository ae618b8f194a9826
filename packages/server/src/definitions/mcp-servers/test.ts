import type { McpServerTest, McpTool, SnapshotMcpServer } from '@troupe/protocol';
import { messageOf, TroupeError } from '../../base/index.ts';
import type { Database } from '../../store/index.ts';
import type { McpPort, OfferedTool } from './port.ts';
import { pinned, required } from './servers.ts';

/** Connects, and tells what the server offers, or what went wrong. */
export async function testMcpServer(
  db: Database,
  project: string,
  mcp: McpPort,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<McpServerTest> {
  const server = pinned(await required(db.rows, project, id));
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  try {
    const offer = await mcp.offerOf(project, server, signal);
    const tools = offer.tools.map((tool) => presentTool(tool, server));
    return { ok: true, durationMs: took(), ...offer, tools };
  } catch (error) {
    const code = error instanceof TroupeError ? error.code : 'mcp_failed';
    return {
      ok: false,
      error: { code, message: messageOf(error) },
      durationMs: took(),
      server: null,
      protocolVersion: null,
      tools: [],
    };
  }
}

function presentTool(tool: OfferedTool, server: SnapshotMcpServer): McpTool {
  return { ...tool, allowed: isAllowed(server, tool.name) };
}

export function isAllowed({ allow }: Pick<SnapshotMcpServer, 'allow'>, tool: string): boolean {
  return allow === null || allow.includes(tool);
}
