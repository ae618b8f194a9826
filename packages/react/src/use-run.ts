import type { RunResult } from './results.ts';

/** One run with its steps and calls. */
export function useRun(runId: string): RunResult {
  throw new Error(`not yet: ${runId}`);
}
