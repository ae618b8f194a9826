import type { JsonObject } from '@troupe/protocol';

/** Where a message, or a run, notes how many triggers led to it: `troupe.trigger_depth` reads it. */
export const DEPTH_KEY = 'troupe:depth';

/** The caller's metadata with the note, where there is one. A note of their own would keep triggers from firing. */
export function noteDepth(metadata: JsonObject, depth: number | undefined): JsonObject {
  const { [DEPTH_KEY]: _, ...own } = metadata;
  return depth === undefined ? own : { ...own, [DEPTH_KEY]: depth };
}
