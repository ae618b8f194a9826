import { useTroupe } from './provider.tsx';
import type { RunResult } from './results.ts';
import { runStore } from './run-store.ts';
import { useShared } from './shared.ts';

/** One run with its steps and calls. Null: there is none yet. */
export function useRun(runId: string | null): RunResult {
  const store = runStore(useTroupe(), runId);
  return useShared(store, store.actions);
}
