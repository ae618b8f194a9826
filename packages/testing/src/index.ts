/**
 * testing: a real Postgres, fresh databases, factories, and a whole Troupe in one process.
 * Imports: server, sdk, protocol.
 * Start reading: kernel-fixture.ts, then invariants.ts (what must be true of every database).
 */
export * from './databases.ts';
export * from './door.ts';
export * from './factories.ts';
export * from './homes.ts';
export * from './invariants.ts';
export * from './no-mcp.ts';
export * from './sample.ts';
export * from './server.ts';
export * from './stopwatch.ts';
export * from './kernel-fixture.ts';
export * from './until.ts';
