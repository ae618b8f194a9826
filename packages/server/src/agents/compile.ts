import {
  type AgentDefinition,
  type AgentSnapshot,
  agentSnapshot,
  type SnapshotModel,
} from '@troupe/protocol';
import type { CapabilityEntry } from './capabilities/index.ts';

/** Between the parts of a prompt: a line that no part is likely to end or begin with. */
const BETWEEN = '\n\n---\n\n';

/**
 * What an agent becomes when it runs. A pure function: equal input, equal snapshot, equal checksum.
 * `capabilities` are those that it carries, in their order; `models` the one to call and then its fallbacks.
 */
export function compileAgent(
  definition: AgentDefinition,
  capabilities: readonly CapabilityEntry[],
  models: readonly SnapshotModel[],
): AgentSnapshot {
  const parts = [...capabilities.map(({ prompt }) => prompt), definition.systemPrompt];
  return agentSnapshot.parse({
    kind: 'agent',
    name: definition.name,
    prompt: parts.filter((part) => part !== '').join(BETWEEN),
    models,
    tools: capabilities.flatMap(({ tools }) => tools),
    limits: definition.limits,
    inDoubt: definition.inDoubt,
  });
}
