import {
  type Json,
  type JsonObject,
  type SnapshotMcpServer,
  type SnapshotTool,
  snapshotMcpServer,
  toolMcp,
} from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import type { ToolContext, ToolExecute } from '../../kernel/ports.ts';
import { type Hidden, hiddenOf, idempotencyKey, valuesOf } from '../http/index.ts';
import type { ToolParts } from '../ports.ts';
import type { Connection } from './connection.ts';
import type { Definition } from './definition.ts';
import { outcomeOf } from './result.ts';
import { secretsOf, type Target, targetOf } from './target.ts';

type Parts = Pick<ToolParts, 'secrets' | 'mcp'>;

/** The worker's clock ends a call in time and says so; this one only makes sure. */
const SPARE_MS = 1_000;
/** For whoever looks at a server: connecting and listing have less each. */
const LOOK_MS = 25_000;

interface Pinned {
  server: SnapshotMcpServer;
  tool: string;
  definitionHash: string;
}

/** A tool of an MCP server. The server, the tool and its definition are those of the snapshot; secrets are read for each call. */
export function mcpTool(parts: Parts) {
  return ({ config, timeoutMs }: SnapshotTool): ToolExecute => {
    const pinned = pinnedIn(config);
    return (args, context) =>
      asking(
        parts,
        context.projectId,
        pinned.server,
        context.signal,
        ({ target, hidden, use }) => {
          requireAllowed(pinned);
          context.onRequest?.(shown(target, args, hidden));
          return use(async (connection) => {
            const { tool } = await definitionIn(connection, pinned);
            const callId = idempotencyKey(context as ToolContext);
            const { signal } = context;
            const result = await connection.call(tool, args as JsonObject, {
              callId,
              signal,
              timeoutMs: timeoutMs + SPARE_MS,
            });
            return outcomeOf(result, hidden);
          });
        },
        context.hides,
      );
  };
}

/** Connects and compares, and calls nothing. */
export function checkMcpTool(parts: Parts) {
  return async (
    { config }: SnapshotTool,
    { projectId, signal }: { projectId: string; signal: AbortSignal },
  ): Promise<string> => {
    const pinned = pinnedIn(config);
    const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
    await asking(parts, projectId, pinned.server, within, async ({ use }) => {
      requireAllowed(pinned);
      return use((connection) => definitionIn(connection, pinned));
    });
    return `The server "${pinned.server.name}" was connected to, and describes "${pinned.tool}" as it is pinned. The tool was not called.`;
  };
}

/** For people who look what a server offers. */
export function mcpServers(parts: Parts) {
  return {
    allows: (project: string, command: string) => parts.mcp.allows(project, command),
    offerOf: (project: string, server: SnapshotMcpServer, signal: AbortSignal) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
      return asking(parts, project, server, within, ({ target, hidden }) =>
        parts.mcp.once(project, target, within, async (connection) => {
          const tools = [...(await connection.tools()).values()].map((one) => offered(one, hidden));
          const about = hidden.json(connection.about) as typeof connection.about;
          return { ...about, tools };
        }),
      );
    },
  };
}

interface Asked {
  target: Target;
  hidden: Hidden;
  /** On the shared connection. */
  use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>;
}

/** Whatever goes wrong is told without the values of secrets. */
async function asking<Result>(
  { secrets, mcp }: Parts,
  project: string,
  server: SnapshotMcpServer,
  signal: AbortSignal,
  work: (asked: Asked) => Promise<Result>,
  hides: ToolContext['hides'] = [],
): Promise<Result> {
  const values = await valuesOf(secrets, project, secretsOf(server));
  const hidden = hiddenOf([...values, ...hides]);
  let last: Connection | null = null;
  try {
    const target = targetOf(server, values);
    const use: Asked['use'] = (one) => {
      const noting = (connection: Connection) => {
        last = connection;
        return one(connection);
      };
      return mcp.use(project, target, signal, noting).catch(async (error: unknown) => {
        const { isForgotten } = await import('./failure.ts');
        if (!last || !isForgotten(error)) throw error;
        // The server no longer knows the session, so it did nothing: once more, in a new one.
        last.drop();
        return mcp.use(project, target, signal, noting);
      });
    };
    return await work({ target, hidden, use });
  } catch (error) {
    if (signal.aborted) throw timeIn(signal.reason);
    // With the client, which most processes never need.
    const { failureOf } = await import('./failure.ts');
    throw failureOf(error, (last as Connection | null)?.broken ?? null, hidden);
  }
}

function timeIn(reason: unknown): unknown {
  const isTime = reason instanceof DOMException && reason.name === 'TimeoutError';
  return isTime ? new TroupeError('mcp_timeout', `The server did not answer within ${LOOK_MS} ms.`) : reason;
}

function pinnedIn(config: JsonObject): Pinned {
  const server = snapshotMcpServer.parse(config.server);
  const { tool, definitionHash } = toolMcp.omit({ server: true }).parse({
    tool: config.tool,
    definitionHash: config.definitionHash,
  });
  return { server, tool, definitionHash };
}

function requireAllowed({ server: { name, allow }, tool }: Pinned): void {
  if (allow === null || allow.includes(tool)) return;
  throw new TroupeError(
    'mcp_tool_not_allowed',
    `"${tool}" is none of the tools that may be called on the MCP server "${name}".`,
  );
}

/** What the server says of the tool now, where that is what was pinned. */
async function definitionIn(
  connection: Connection,
  { server, tool, definitionHash }: Pinned,
): Promise<Definition> {
  const known = (await connection.tools()).get(tool);
  if (known?.hash === definitionHash) return known;
  // What was known may be older than the one that was pinned.
  const now = (await connection.tools({ anew: true })).get(tool);
  if (now?.hash === definitionHash) return now;
  if (!now)
    throw new TroupeError(
      'mcp_tool_gone',
      `The MCP server "${server.name}" no longer has the tool "${tool}".`,
    );
  throw new TroupeError(
    'mcp_definition_changed',
    `The MCP server "${server.name}" describes "${tool}" otherwise than when it was imported, so it was not called. Somebody must look at the new definition and import it again.`,
  );
}

function offered({ tool, hash }: Definition, hidden: Hidden) {
  const { name, title, description = '', inputSchema, annotations = {} } = tool;
  return {
    name: hidden.text(name),
    title: title === undefined ? null : hidden.text(title),
    description: hidden.text(description),
    inputSchema: hidden.json(inputSchema as unknown as Json) as JsonObject,
    annotations: hidden.json(annotations as unknown as Json) as JsonObject,
    definitionHash: hash,
  };
}

/** For people. */
function shown(target: Target, args: Json, hidden: Hidden) {
  const http = target.transport === 'http';
  const headers = http ? Object.entries(target.headers) : [];
  return {
    method: 'tools/call',
    url: hidden.text(http ? target.url : [target.command, ...target.args].join(' ')),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, hidden.text(value)])),
    body: hidden.text(JSON.stringify(args)).slice(0, 10_000).toWellFormed(),
  };
}
