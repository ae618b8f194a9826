import { type AgentDefinition, agentDefinition } from '@troupe/protocol';
import type { AgentRow } from '../../store/index.ts';
import { definitionOf as toolDefinitionOf } from '../tools/index.ts';

/** Parsed, since a row may have been written before a field was known. */
export function definitionOf(row: AgentRow): AgentDefinition {
  return agentDefinition.parse({
    name: row.name,
    description: row.description,
    systemPrompt: row.system_prompt,
    defaultModelId: row.default_model_id,
    tags: row.tags,
    capabilities: row.capabilities,
    tools: row.tools,
    inlineTools: row.inline_tools.map(toolDefinitionOf),
    ...row.config,
  });
}
