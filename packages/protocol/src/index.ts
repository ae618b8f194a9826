/**
 * protocol: the contract. One file per resource, as zod schemas; types are inferred from them.
 * Imports: zod only.
 * Start reading: runs.ts (states), snapshots.ts (what the kernel executes).
 */
export * from './access.ts';
export * from './agents.ts';
export * from './batches.ts';
export * from './capabilities.ts';
export * from './clients.ts';
export * from './common.ts';
export * from './endpoint.ts';
export * from './endpoint-tags.ts';
export * from './endpoints.ts';
export * from './entities.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './exports.ts';
export * from './files.ts';
export * from './findings.ts';
export * from './goals.ts';
export * from './inbox.ts';
export * from './json.ts';
export * from './mcp-servers.ts';
export * from './memories.ts';
export * from './messages.ts';
export * from './models.ts';
export * from './networks.ts';
export * from './plans.ts';
export * from './prompts.ts';
export * from './retention.ts';
export * from './runs.ts';
export * from './session-status.ts';
export * from './sessions.ts';
export * from './snapshots.ts';
export * from './spaces.ts';
export * from './sync.ts';
export * from './system.ts';
export * from './tasks.ts';
export * from './timelines.ts';
export * from './todos.ts';
export * from './tool-calls.ts';
export { defaultEffect } from './tool-source.ts';
export * from './tools.ts';
export * from './triggers.ts';
export * from './usage.ts';
