import type { AgentSnapshot } from '@troupe/protocol';

/** The functions that runs of a snapshot need, by name: as `troupe.find_code_tools` says it in SQL. */
export function codeToolsOf({ tools }: Pick<AgentSnapshot, 'tools'>): string[] {
  const names = tools.flatMap(({ provider, config }) =>
    provider === 'code' && typeof config.function === 'string' ? [config.function] : [],
  );
  return [...new Set(names)].sort();
}
