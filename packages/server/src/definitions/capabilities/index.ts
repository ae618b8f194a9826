/**
 * definitions/capabilities: the bundles of prompt and tools that agents can carry, one file each. `tools/builtin/` executes their tools.
 * Imports: base, protocol.
 * Start reading: entry.ts (the shape), capabilities.ts (the list).
 */
export { builtInOwner } from './built-in-names.ts';
export { findCapability, getCapability, listCapabilities } from './capabilities.ts';
export { delegation, delegationConfig } from './delegation.ts';
export type { CapabilityEntry } from './entry.ts';
export { memoryConfig } from './memory.ts';
