import type { SnapshotTool } from '@troupe/protocol';
import { snapshotTool } from '@troupe/protocol';
import { Refusal } from '../base/index.ts';
import { type ToolRow, type Transaction, toolsNamed } from '../store/index.ts';

/** The tools of the project that an agent names, in its order; one that is not there is refused. */
export async function toolsOf(
  rows: Transaction,
  project: string,
  names: readonly string[],
  options: { keep?: boolean } = {},
): Promise<ToolRow[]> {
  const found = await toolsNamed(rows, project, names, options);
  const byName = new Map(found.map((row) => [row.name.toLowerCase(), row]));
  return names.map((name, index) => {
    const row = byName.get(name.toLowerCase());
    if (row) return row;
    throw new Refusal('invalid', 'tool_not_found', `There is no tool "${name}" in the project.`, {
      hint: 'GET /v1/tools lists those that there are.',
      issues: [{ path: `tools.${index}`, message: 'is no tool of the project' }],
    });
  });
}

/** As a run gets it. Secrets are named in it, never contained. */
export function toSnapshotTool(row: ToolRow): SnapshotTool {
  const { request, response, output, outputSchema, timeoutMs, deadlineMs } = row.config;
  const outside = row.kind === 'client' || row.kind === 'ui';
  const config = { toolId: row.id, version: row.version, request, response, output, outputSchema };
  return snapshotTool.parse({
    name: row.name,
    description: row.description,
    provider: outside ? 'client' : row.kind,
    inputSchema: row.input_schema,
    effect: row.effect,
    ...(outside ? { waitsFor: 'client' } : row.approval ? { waitsFor: 'approval' } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    config: Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)),
  });
}
