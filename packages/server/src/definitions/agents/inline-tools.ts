import type { AgentDefinition, Json, ToolDefinition } from '@troupe/protocol';
import { canonicalJson, newId, Refusal } from '../../base/index.ts';
import { putAgentTool, type Transaction, toolsOfAgent } from '../../store/index.ts';
import { checkedTool, definitionOf, toWrite } from '../tools/index.ts';

// Tools that an agent defines itself. They are rows of the agent and change with its versions. For this agent they
// override tools of the project with the same name.

type Tools = Pick<AgentDefinition, 'tools' | 'inlineTools'>;

/** As they are stored: `tools` names every inline tool, and they have its order. */
export function normalTools({ tools, inlineTools }: Tools): Tools {
  const names = [...new Set(inlineTools.map(({ name }) => fold(name)))];
  if (names.length < inlineTools.length) throw definedTwice(inlineTools);
  const carried = new Set(tools.map(fold));
  const more = inlineTools.filter(({ name }) => !carried.has(fold(name))).map(({ name }) => name);
  const all = [...tools, ...more];
  const places = new Map(all.map((name, index) => [fold(name), index]));
  const place = ({ name }: ToolDefinition) => places.get(fold(name))!;
  const checked = inlineTools.map(checkedInline);
  return { tools: all, inlineTools: checked.toSorted((one, other) => place(one) - place(other)) };
}

/** The tools after a PATCH: tools of other names stay while `tools` names them. */
export function patchedInlineTools(before: Tools, patch: Partial<Tools>): ToolDefinition[] {
  const { tools = before.tools, inlineTools = [] } = patch;
  const carried = new Set(tools.map(fold));
  const changed = new Set(inlineTools.map(({ name }) => fold(name)));
  const stay = before.inlineTools.filter(({ name }) => carried.has(fold(name)) && !changed.has(fold(name)));
  return [...stay, ...inlineTools];
}

/** Writes the rows of tools that differ. Rows of removed tools are deleted when the version is written. */
export async function writeInlineTools(
  transaction: Transaction,
  { project, agent }: { project: string; agent: string },
  tools: readonly ToolDefinition[],
): Promise<void> {
  if (tools.length === 0) return;
  const rows = await toolsOfAgent(transaction, project, agent);
  const byName = new Map(rows.map((row) => [fold(row.name), row]));
  for (const definition of tools) {
    const { name, kind } = definition;
    const row = byName.get(fold(name));
    if (row && textOf(definitionOf(row)) === textOf(definition)) continue;
    const id = row?.id ?? newId();
    await putAgentTool(transaction, { id, project, agent, name, kind, write: toWrite(definition) });
  }
}

function checkedInline(definition: ToolDefinition, index: number): ToolDefinition {
  const path = `inlineTools.${index}`;
  if (definition.kind === 'mcp') {
    const message = `The tool "${definition.name}" cannot be defined by an agent: it belongs to an MCP server.`;
    throw new Refusal('invalid', 'tool_invalid', message, {
      hint: 'Import it with POST /v1/mcp-servers/{mcpServerId}/import, and name it in `tools`.',
      issues: [{ path: `${path}.kind`, message: 'must not be mcp' }],
    });
  }
  try {
    return checkedTool(definition);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { kind, code, message, hint, issues = [] } = error;
    throw new Refusal(kind, code, message, {
      ...(hint === undefined ? {} : { hint }),
      issues: issues.map((issue) => ({ ...issue, path: `${path}.${issue.path}` })),
    });
  }
}

function definedTwice(tools: readonly ToolDefinition[]): Refusal {
  const folded = tools.map(({ name }) => fold(name));
  const index = folded.findIndex((name, place) => folded.indexOf(name) < place);
  return new Refusal('invalid', 'tool_taken', `The agent defines the tool "${tools[index]!.name}" twice.`, {
    hint: 'Leave one of them out.',
    issues: [{ path: `inlineTools.${index}.name`, message: 'is defined twice' }],
  });
}

function fold(name: string): string {
  return name.toLowerCase();
}

function textOf(value: unknown): string {
  return canonicalJson(value as Json);
}
