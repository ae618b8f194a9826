/**
 * protocol: the contract. One file per resource, as zod schemas; types are inferred from them.
 * Imports: zod only.
 * Start reading: runs.ts (states), snapshots.ts (what the kernel executes).
 */
export * from './json.ts';
export * from './messages.ts';
export * from './runs.ts';
export * from './snapshots.ts';
