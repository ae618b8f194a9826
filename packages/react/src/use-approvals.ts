import type { ApprovalsResult } from './results.ts';

export interface ApprovalsFilter {
  /** Default: `approval` and `person`. */
  waitsFor?: 'client' | 'approval' | 'person' | 'task' | undefined;
  agentId?: string | undefined;
  sessionId?: string | undefined;
  runId?: string | undefined;
  limit?: number | undefined;
}

/** Calls that wait for somebody, and what can be said about them. What is decided shows at once, and is taken back where it is refused. */
export function useApprovals(_filter: ApprovalsFilter = {}): ApprovalsResult {
  throw new Error('not yet');
}
