import type { StreamItem, Troupe } from '@troupe/sdk';

// What one stream tells, lists can use: whoever answers a call in a chat sees it leave the inbox at once.

export type Noun = 'runs' | 'tasks' | 'inbox';

type Listener = (nouns: readonly Noun[]) => void;

const known = new WeakMap<Troupe, Set<Listener>>();

export function onHint(troupe: Troupe, listener: Listener): () => void {
  const listeners = known.get(troupe) ?? new Set<Listener>();
  known.set(troupe, listeners);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function hintOf(troupe: Troupe, nouns: readonly Noun[]): void {
  for (const listener of known.get(troupe) ?? []) listener(nouns);
}

export function hint(troupe: Troupe, item: StreamItem): void {
  if (item.kind !== 'event') return;
  const { type } = item.event;
  if (type.startsWith('run.')) hintOf(troupe, ['runs', 'inbox']);
  else if (type.startsWith('tool.')) hintOf(troupe, ['inbox']);
  else if (type.startsWith('task.')) hintOf(troupe, ['tasks', 'inbox']);
}
