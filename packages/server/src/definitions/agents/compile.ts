import {
  type AgentDefinition,
  type AgentSnapshot,
  agentSnapshot,
  type SnapshotModel,
  type SnapshotTool,
} from '@troupe/protocol';
import type { ToolRow } from '../../store/index.ts';
import { toSnapshotTool } from '../tools/index.ts';
import type { Carried } from './agent-capabilities.ts';

/** Between the parts of a prompt: a line that no part is likely to end or begin with. */
const BETWEEN = '\n\n---\n\n';

/** What the names and ids of a definition stand for. */
export interface Found {
  /** All that it carries, those that others build on before them. */
  capabilities: readonly Carried[];
  /** In the order of the definition. */
  tools: readonly ToolRow[];
  /** The one to call, and then its fallbacks. */
  models: readonly SnapshotModel[];
  /** The model that writes summaries; null: `models`. */
  summariser: SnapshotModel | null;
}

/** What an agent becomes when it runs. A pure function: equal input, equal snapshot, equal checksum. */
export function compileAgent(definition: AgentDefinition, found: Found): AgentSnapshot {
  const parts = [...found.capabilities.map(({ entry }) => entry.prompt), definition.systemPrompt];
  return agentSnapshot.parse({
    kind: 'agent',
    name: definition.name,
    prompt: parts.filter((part) => part !== '').join(BETWEEN),
    models: found.models,
    tools: compileTools(definition, found),
    limits: definition.limits,
    inDoubt: definition.inDoubt,
    ...(definition.approvers === 'keys' ? { approvers: 'keys' } : {}),
    ...(definition.answer ? { answer: definition.answer } : {}),
    ...compileCompaction(definition, found),
    ...(definition.replyWaiting ? { replyWaiting: true } : {}),
  });
}

/** The models of the agent come after its summariser: a summary by one of these is better than none. */
function compileCompaction(
  { compaction: { modelId: _, ...settings } }: AgentDefinition,
  { summariser, models }: Found,
): Pick<AgentSnapshot, 'compaction'> {
  const writers = summariser ? { models: [summariser, ...models] } : {};
  const compaction = { ...settings, ...writers };
  return Object.keys(compaction).length > 0 ? { compaction } : {};
}

function compileTools({ approvals }: AgentDefinition, { capabilities, tools }: Found): SnapshotTool[] {
  const all = [
    ...capabilities.flatMap(({ entry, config }) => entry.tools.map((tool) => ({ ...tool, config }))),
    ...tools.map(toSnapshotTool),
  ];
  return all.map((tool) => (approvals.includes(tool.name) ? { ...tool, waitsFor: 'approval' } : tool));
}
