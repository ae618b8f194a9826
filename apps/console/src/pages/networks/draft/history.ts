import type { Definition } from './definition.ts';

/** What is being edited, what it was made of, and the way back and forth. */
export interface History {
  /** As the server had it, and when it was changed there last. */
  base: { definition: Definition; updatedAt: string };
  past: Definition[];
  present: Definition;
  future: Definition[];
  /** The edit that `present` comes from: one that goes on (such as writing a prompt) is one step back. */
  tag: string | null;
  at: number;
}

export type Step =
  | { type: 'edit'; change: (definition: Definition) => Definition; tag?: string; now: number }
  | { type: 'undo' | 'redo' }
  | { type: 'discard' }
  /** The server has it like this now: there is nothing to be saved beyond what differs from it. */
  | { type: 'rebase'; base: History['base']; present?: Definition };

const MOST_STEPS = 200;
/** After so long the same field is another edit. */
const ONE_EDIT_MS = 1_500;

export function begin(base: History['base']): History {
  return { base, past: [], present: base.definition, future: [], tag: null, at: 0 };
}

export function take(history: History, step: Step): History {
  const { past, present, future } = history;
  switch (step.type) {
    case 'edit': {
      const next = step.change(present);
      if (next === present) return history;
      const goesOn =
        step.tag !== undefined && step.tag === history.tag && step.now - history.at < ONE_EDIT_MS;
      return {
        ...history,
        past: goesOn ? past : [...past.slice(-MOST_STEPS), present],
        present: next,
        future: [],
        tag: step.tag ?? null,
        at: step.now,
      };
    }
    case 'undo': {
      const before = past.at(-1);
      if (!before) return history;
      return {
        ...history,
        past: past.slice(0, -1),
        present: before,
        future: [present, ...future],
        tag: null,
      };
    }
    case 'redo': {
      const [next, ...rest] = future;
      if (!next) return history;
      return { ...history, past: [...past, present], present: next, future: rest, tag: null };
    }
    case 'discard':
      return {
        ...history,
        past: [...past, present],
        present: history.base.definition,
        future: [],
        tag: null,
      };
    case 'rebase':
      if (!step.present) return begin(step.base);
      if (step.present === present) return { ...history, base: step.base };
      return { ...history, base: step.base, past: [...past, present], present: step.present, tag: null };
  }
}
