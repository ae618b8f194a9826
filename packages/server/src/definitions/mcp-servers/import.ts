import { createHash } from 'node:crypto';
import { type McpImport, type ToolDefinition, type ToolEffect, toolDefinition } from '@troupe/protocol';
import { messageOf, newId, Refusal, TroupeError } from '../../base/index.ts';
import {
  type Author,
  type Database,
  insertTool,
  inTransaction,
  isTaken,
  lockToolsOfMcpServer,
  noteChange,
  type ToolRow,
  type Transaction,
  toolsNamed,
  updateTool,
} from '../../store/index.ts';
import { checkTool, definitionOf, toWrite } from '../tools/index.ts';
import type { McpPort, Offer, OfferedTool } from './port.ts';
import { pinned, required } from './servers.ts';
import { isAllowed } from './test.ts';

const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 10_000;
/** In a name, what stands there instead of a secret: it could not be called by that. */
const HIDDEN = /\[secret [^\]]+\]/;

/** Makes tools of the project of what a server offers now, or makes those that there are what it says. */
export async function importFromMcpServer(
  db: Database,
  author: Author,
  mcp: McpPort,
  { id, only, signal }: { id: string; only: string[] | undefined; signal: AbortSignal },
): Promise<McpImport> {
  const { project } = author;
  // Nothing is locked while the server is asked, which may take its time.
  const offer = await offerOf(mcp, project, pinned(await required(db.rows, project, id)), signal);
  return changing(db, async (transaction) => {
    const server = await required(transaction, project, id, { lock: true });
    const known = new Map(
      (await lockToolsOfMcpServer(transaction, project, id)).map((row) => [toolOf(row), row]),
    );
    const done: McpImport = { created: [], updated: [], unchanged: [], gone: [], refused: [] };
    const wanted = (tool: string) => only === undefined || only.includes(tool);
    const offered = offer.tools.filter(({ name }) => wanted(name) && isAllowed(server, name));
    for (const tool of offered) {
      try {
        const given = { server: { id, name: server.name }, tool };
        await importTool(transaction, author, given, known.get(tool.name), done);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        done.refused.push({ tool: tool.name, code: error.code, message: error.message });
      }
    }
    const there = new Set(offered.map(({ name }) => name));
    for (const [tool, { name, id: toolId }] of known)
      if (wanted(tool) && !there.has(tool)) done.gone.push({ tool, name, toolId });
    for (const tool of only ?? []) {
      if (there.has(tool) || known.has(tool)) continue;
      const isThere = offer.tools.some(({ name }) => name === tool);
      done.refused.push({
        tool,
        code: isThere ? 'mcp_tool_not_allowed' : 'mcp_tool_gone',
        message: isThere
          ? 'The server is not allowed for this tool.'
          : 'The server has no tool of this name.',
      });
    }
    return done;
  });
}

/** A name that somebody took meanwhile costs the whole import, which can be asked for again. */
async function changing<Result>(
  db: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await inTransaction(db, work);
  } catch (error) {
    if (!isTaken(error, 'tools_name')) throw error;
    throw new Refusal('conflict', 'name_taken', 'A tool of one of these names was made just now.', {
      hint: 'Import again.',
      cause: error,
    });
  }
}

async function offerOf(
  mcp: McpPort,
  project: string,
  server: Parameters<McpPort['offerOf']>[1],
  signal: AbortSignal,
): Promise<Offer> {
  try {
    return await mcp.offerOf(project, server, signal);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    throw new Refusal('conflict', 'mcp_unreachable', `${messageOf(error)} (${error.code})`, {
      hint: 'POST /v1/mcp-servers/{mcpServerId}/test shows whether it answers.',
    });
  }
}

/** What a row says of itself; rows of mcp tools always have it. */
function toolOf(row: ToolRow): string {
  return definitionOf(row).mcp!.tool;
}

async function importTool(
  transaction: Transaction,
  author: Author,
  { server, tool }: { server: { id: string; name: string }; tool: OfferedTool },
  known: ToolRow | undefined,
  done: McpImport,
): Promise<void> {
  if (HIDDEN.test(tool.name))
    throw new Refusal(
      'conflict',
      'mcp_tool_name_secret',
      'The name of the tool holds the value of a secret.',
    );
  const told = {
    description: tool.description.slice(0, LONGEST_DESCRIPTION).toWellFormed(),
    inputSchema: tool.inputSchema,
    mcp: { server: server.id, tool: tool.name, definitionHash: tool.definitionHash },
  };
  const effect = effectOf(tool);
  if (known) {
    const before = definitionOf(known);
    const entry = { tool: tool.name, name: known.name, toolId: known.id };
    if (before.mcp!.definitionHash === tool.definitionHash) {
      done.unchanged.push(entry);
      return;
    }
    const definition: ToolDefinition = { ...before, ...told, effect: careful(before.effect, effect) };
    checkTool(definition);
    await updateTool(transaction, known.id, toWrite(definition));
    const data = { name: known.name, version: known.version + 1, changed: Object.keys(told) };
    await noteChange(transaction, author, { action: 'tool.changed', target: known.id, data });
    done.updated.push(entry);
    return;
  }
  const name = nameOf(server.name, tool.name);
  const definition = toolDefinition.parse({
    name,
    displayName: tool.title?.slice(0, 200).toWellFormed() ?? null,
    kind: 'mcp',
    effect,
    visible: false,
    ...told,
  });
  checkTool(definition);
  if ((await toolsNamed(transaction, author.project, [name])).length > 0)
    throw new Refusal('conflict', 'name_taken', `The project has a tool "${name}" already.`);
  const id = newId();
  await insertTool(transaction, {
    id,
    project: author.project,
    name,
    kind: 'mcp',
    write: toWrite(definition),
  });
  const data = { name, kind: 'mcp', version: 1 };
  await noteChange(transaction, author, { action: 'tool.created', target: id, data });
  done.created.push({ tool: tool.name, name, toolId: id });
}

/** `<server>_<tool>` in the letters that names of tools have; one that is too long ends with a hash instead. */
function nameOf(server: string, tool: string): string {
  const written = (text: string) => text.replaceAll(/[^A-Za-z0-9_-]+/g, '_');
  const text = `${written(server).replaceAll(/^_+|_+$/g, '')}_${written(tool)}`.replace(
    /^(?=[^A-Za-z_])/,
    '_',
  );
  if (text.length <= LONGEST_NAME) return text;
  const hash = createHash('sha256').update(`${server}\n${tool}`).digest('hex').slice(0, 8);
  return `${text.slice(0, LONGEST_NAME - 9)}_${hash}`;
}

/** As the server says of itself. Where it says nothing, a call is never made twice. */
function effectOf({ annotations }: OfferedTool): ToolEffect {
  if (annotations.readOnlyHint === true) return 'pure';
  return annotations.idempotentHint === true ? 'idempotent' : 'once';
}

const CARE: ToolEffect[] = ['pure', 'idempotent', 'once'];
/** A new definition never makes calls repeatable that were not: somebody may have said so. */
function careful(one: ToolEffect, two: ToolEffect): ToolEffect {
  return CARE[Math.max(CARE.indexOf(one), CARE.indexOf(two))]!;
}
