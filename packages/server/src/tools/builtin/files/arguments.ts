import type { Json, JsonObject } from '@troupe/protocol';

/** The kernel has held them against the schema of the tool: what is missing here is what may be. */
export function argumentsOf(args: Json): JsonObject {
  return args !== null && typeof args === 'object' && !Array.isArray(args) ? args : {};
}
