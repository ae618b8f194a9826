/**
 * store: the database. Migrations and functions in migrations/*.sql, every query in queries/<noun>.ts.
 * Imports: base, protocol.
 * Start reading: migrations/0001_tables.sql, then 0002_advance.sql (the hot path), then queries/advance.ts.
 */
export { Database, type DatabaseOptions, type Rows } from './database.ts';
export * from './embedded/index.ts';
export { isConnectionError, isContention, isNotOpen, isPointedAt, isTaken } from './errors.ts';
export { toJsonText } from './json.ts';
export { migrate, readMigrations, withMigrationLock } from './migrate.ts';
export type { PatientPool } from './patient-pool.ts';
export * from './queries/advance.ts';
export * from './queries/agent-versions.ts';
export * from './queries/agents.ts';
export * from './queries/audit.ts';
export * from './queries/author.ts';
export * from './queries/batches.ts';
export * from './queries/budgets.ts';
export * from './queries/claim.ts';
export * from './queries/clients.ts';
export * from './queries/entities.ts';
export * from './queries/envelopes.ts';
export * from './queries/events.ts';
export * from './queries/files.ts';
export * from './queries/findings.ts';
export * from './queries/goals.ts';
export * from './queries/idempotency.ts';
export * from './queries/in-spaces.ts';
export { HalfFailed } from './queries/in-two.ts';
export * from './queries/inbox.ts';
export * from './queries/jobs.ts';
export * from './queries/keys.ts';
export * from './queries/load.ts';
export * from './queries/memberships.ts';
export * from './queries/memories.ts';
export * from './queries/messages.ts';
export * from './queries/models.ts';
export * from './queries/network-runs.ts';
export * from './queries/network-versions.ts';
export * from './queries/networks.ts';
export * from './queries/outside.ts';
export * from './queries/ping.ts';
export * from './queries/plans.ts';
export * from './queries/projects.ts';
export * from './queries/providers.ts';
export * from './queries/purge.ts';
export * from './queries/runs.ts';
export * from './queries/secrets.ts';
export * from './queries/sessions.ts';
export * from './queries/signals.ts';
export * from './queries/snapshots.ts';
export * from './queries/spaces.ts';
export * from './queries/start.ts';
export * from './queries/starts.ts';
export * from './queries/steps.ts';
export * from './queries/todos.ts';
export * from './queries/tools.ts';
export * from './queries/workers.ts';
export { inTransaction, type Transaction } from './transaction.ts';
