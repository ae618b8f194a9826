import type { JsonObject } from '@troupe/protocol';
import type { RunRecord } from '../store/index.ts';

/**
 * A run as a person sees it who shares these spaces with it: that it works, and what began it where they were there. What it thinks
 * is the agent's; what was said elsewhere is of those who were there.
 */
export function runSeenIn(run: RunRecord, shared: readonly string[]): RunRecord {
  const { text: _, ...outcome } = (run.outcome ?? {}) as JsonObject;
  const { waitState, ...metadata } = run.metadata;
  const waitsIn = (waitState as JsonObject | undefined)?.spaceId;
  return {
    ...run,
    outcome: run.outcome === null ? null : outcome,
    trigger: run.spaceId !== null && shared.includes(run.spaceId) ? run.trigger : {},
    metadata: typeof waitsIn === 'string' && shared.includes(waitsIn) ? run.metadata : metadata,
  };
}
