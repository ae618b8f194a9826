import type { Api } from '@troupe/sdk';

/** What people edit of an agent. */
export function definitionOf(agent: Api.Agent): Api.AgentDefinition {
  const { id, entityId, version, status, createdAt, updatedAt, ...definition } = agent;
  return definition;
}

/** The fields that differ, for a change that leaves the others alone. */
export function changesOf(
  before: Api.AgentDefinition,
  after: Api.AgentDefinition,
): Partial<Api.AgentDefinition> {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([field, value]) =>
        JSON.stringify(value) !== JSON.stringify(before[field as keyof Api.AgentDefinition]),
    ),
  );
}

/** A definition as text to compare: the prompt is apart, since it is read line by line. */
export function restAsText({ systemPrompt, ...rest }: Api.AgentDefinition): string {
  return JSON.stringify(rest, null, 2);
}
