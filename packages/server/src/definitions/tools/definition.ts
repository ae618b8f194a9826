import { type JsonObject, type ToolDefinition, toolDefinition } from '@troupe/protocol';
import type { InlineToolRow, ToolWrite } from '../../store/index.ts';

/** What has no column of its own; what is not set is not there. */
export function toWrite(definition: ToolDefinition): ToolWrite {
  const { timeoutMs, deadlineMs, outputSchema, output, request, response, mcp, display, metadata, kind } =
    definition;
  const { network, agent, secretRef } = definition;
  const set = {
    ...(kind === 'static' ? { output } : {}),
    ...(request ? { request } : {}),
    ...(response ? { response } : {}),
    ...(mcp ? { mcp } : {}),
    ...(outputSchema ? { outputSchema } : {}),
    ...(network ? { network } : {}),
    ...(agent ? { agent } : {}),
    ...(secretRef === null ? {} : { secretRef }),
    ...(definition.function === null ? {} : { function: definition.function }),
  };
  return {
    display_name: definition.displayName,
    description: definition.description,
    input_schema: definition.inputSchema,
    params: definition.params,
    effect: definition.effect,
    approval: definition.approval,
    visible: definition.visible,
    config: { timeoutMs, deadlineMs, display, metadata, ...set } as JsonObject,
  };
}

/** Parsed, since a row may have been written before a field was known. */
export function definitionOf(row: InlineToolRow): ToolDefinition {
  return toolDefinition.parse({
    name: row.name,
    displayName: row.display_name,
    description: row.description,
    kind: row.kind,
    inputSchema: row.input_schema,
    params: row.params,
    effect: row.effect,
    approval: row.approval,
    visible: row.visible,
    ...row.config,
  });
}
