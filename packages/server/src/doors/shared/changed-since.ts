import type { RunView } from '../../kernel/index.ts';

/** Of a step that was taken long ago: which parts of its prompt are read from what has changed since, and say what is so now. */
export function changedSince(
  { past, snapshot }: Pick<RunView, 'past' | 'snapshot'>,
  { remembered, tasks }: { remembered: string; tasks: string },
): { changed?: string[] } {
  if (!past) return {};
  // One that remembers nothing now may have remembered something then.
  const remembers = snapshot.tools.some(
    ({ provider, name, config }) =>
      provider === 'builtin' && name === 'get_memories' && config.inPrompt !== false,
  );
  const changed = [
    ...(remembers || remembered !== '' ? ['What the agent remembers is told as it is now.'] : []),
    ...(tasks !== '' ? ['What became of its tasks is told as it is now.'] : []),
  ];
  return changed.length > 0 ? { changed } : {};
}
