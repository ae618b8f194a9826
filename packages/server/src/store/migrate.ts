import { readFileSync } from 'node:fs';
import pg from 'pg';
import { messageOf, StartupError } from '../base/index.ts';
import { applyBaseFunctions, applySources } from './apply-sources.ts';
import { isConnectionError } from './errors.ts';
import { isLowerRelease } from './releases.ts';
import { continueStamps } from './restored-stamps.ts';
import { type Migration, readMigrations, readSourceObjects, type SourceObject } from './sources.ts';

const OLDEST_POSTGRES = 150_000;
// One process migrates; the others wait and then find nothing to do.
const LOCK = 4_700_001;
const LOCK_OF_OTHERS = 4_700_002;
const DEADLOCK_TRIES = 10;
const BEGINNING = `create schema if not exists troupe;
  create table troupe.migrations (id int primary key, name text not null, breaking boolean not null, applied_at timestamptz not null default now())`;

/** Serialises migrations of dependencies (Graphile Worker), which may not handle concurrent starts. */
export async function withMigrationLock<T>(url: string, action: () => Promise<T>): Promise<T> {
  const client = await connect(url);
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_OF_OTHERS]);
    return await action();
  } catch (error) {
    throw explained(url, error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The release of this program. A lower release leaves the functions of a higher one alone. */
const RELEASE = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export interface SchemaSource {
  migrations: Migration[];
  objects: SourceObject[];
  release: string;
}

export function readSchemaSource(): SchemaSource {
  return { migrations: readMigrations(), objects: readSourceObjects(), release: RELEASE };
}

/**
 * Applies pending migrations, then makes functions and triggers equal to their source, in one transaction under an
 * advisory lock. Returns the names of the applied migrations. Running processes lock tables in another order, so the
 * transaction is retried when Postgres aborts it to break a deadlock.
 */
export async function migrate(url: string, source: SchemaSource = readSchemaSource()): Promise<string[]> {
  const client = await connect(url);
  try {
    await checkVersion(client);
    for (let attempt = 1; ; attempt++) {
      try {
        return await apply(client, source);
      } catch (error) {
        if (attempt >= DEADLOCK_TRIES || (error as { code?: string }).code !== '40P01') throw error;
        await client.query('rollback');
      }
    }
  } catch (error) {
    throw explained(url, error);
  } finally {
    await client.end().catch(() => {});
  }
}

async function apply(client: pg.Client, { migrations, objects, release }: SchemaSource): Promise<string[]> {
  await client.query('begin');
  await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
  // `create … if not exists` needs the right to create even if the object exists.
  const { rows: known } = await client.query(`select where to_regclass('troupe.migrations') is not null`);
  if (known.length === 0) await client.query(BEGINNING);
  const { rows } = await client.query<{ id: number; name: string; breaking: boolean }>(
    'select id, name, breaking from troupe.migrations order by id',
  );
  refuseNewer(rows, migrations);
  refuseOlder(rows, migrations);
  const stored = await readRelease(client);
  const own = stored === null || !isLowerRelease(release, stored);
  if (own) await applyBaseFunctions(client, objects);
  const applied: string[] = [];
  const present = new Set(rows.map((row) => row.id));
  for (const migration of migrations) {
    if (present.has(migration.id)) continue;
    await client.query(migration.sql);
    await client.query('insert into troupe.migrations (id, name, breaking) values ($1, $2, $3)', [
      migration.id,
      migration.name,
      migration.breaking,
    ]);
    applied.push(migration.name);
  }
  if (own) {
    const changed = await applySources(client, objects);
    // Triggers are created enabled. The capture triggers of collections without a rule must be disabled.
    if (changed.some((name) => name.endsWith('_capture')))
      await client.query('select troupe.arm_captures(1000)');
    if (objects.some(({ name }) => name === 'stamp_offset')) await continueStamps(client);
    if (stored !== release) await client.query(`comment on schema troupe is 'release:${release}'`);
  }
  await client.query('commit');
  return applied;
}

async function readRelease(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ release: string | null }>(
    `select substring(obj_description('troupe'::regnamespace, 'pg_namespace') from '^release:(.*)$') as release`,
  );
  return rows[0]!.release;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'troupe/migrate',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw refused(url, error) ?? unreachable(url, error);
  }
}

/** What waiting does not mend: PostgreSQL answers, and lets nobody in with this address. */
function refused(url: string, cause: unknown): StartupError | null {
  const code = (cause as { code?: string }).code ?? '';
  const { username, pathname } = URL.canParse(url) ? new URL(url) : { username: '', pathname: '' };
  const told = { details: { sqlState: code }, cause };
  if (code === '3D000') {
    return new StartupError('database_not_found', `PostgreSQL refuses the address: ${messageOf(cause)}.`, {
      hint: `Create the database (createdb ${decodeURIComponent(pathname.slice(1))}), or correct DATABASE_URL.`,
      ...told,
    });
  }
  if (!code.startsWith('28')) return null;
  const user = decodeURIComponent(username);
  return new StartupError('database_refused', `PostgreSQL refuses the user "${user}": ${messageOf(cause)}.`, {
    hint: 'Correct user and password in DATABASE_URL (and DATABASE_DIRECT_URL), or pg_hba.conf.',
    ...told,
  });
}

function explained(url: string, error: unknown): unknown {
  if (error instanceof StartupError) return error;
  if ((error as { code?: string }).code === '42501') {
    return new StartupError(
      'database_rights',
      `The database user may not set up Troupe's tables: ${messageOf(error)}.`,
      {
        hint: 'Grant it CREATE on the database: Troupe makes the schemas troupe and graphile_worker there, and they must belong to the user it connects as.',
        cause: error,
      },
    );
  }
  return isConnectionError(error) ? unreachable(url, error) : error;
}

async function checkVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
  const version = Number(rows[0]?.server_version_num);
  if (version < OLDEST_POSTGRES) {
    throw new StartupError(
      'database_too_old',
      `This PostgreSQL is version ${Math.floor(version / 10_000)}; Troupe needs 15 or newer.`,
      { hint: 'Upgrade it, or unset DATABASE_URL to let Troupe bring its own.' },
    );
  }
}

function refuseNewer(present: { id: number; name: string; breaking: boolean }[], known: Migration[]): void {
  const newest = Math.max(...known.map((migration) => migration.id));
  const newer = present.filter((row) => row.id > newest && row.breaking);
  if (newer.length === 0) return;
  throw new StartupError(
    'schema_too_new',
    `The database was migrated by a newer Troupe (${newer.map((row) => row.name).join(', ')}) and this one cannot work on it.`,
    { hint: 'Start the newer version, or give this one a database of its own.' },
  );
}

function refuseOlder(present: { id: number; name: string }[], known: Migration[]): void {
  const oldest = known[0]!.id;
  const newest = present.at(-1);
  if (!newest || newest.id >= oldest) return;
  throw new StartupError(
    'schema_too_old',
    `The database is at migration ${newest.name}; this release upgrades databases from ${known[0]!.name} on.`,
    { hint: 'Start the previous release once to upgrade the database, then this one.' },
  );
}

function unreachable(url: string, cause: unknown): StartupError {
  let where = 'the database';
  try {
    const parsed = new URL(url);
    where = `${parsed.hostname}:${parsed.port || 5432}${parsed.pathname}`;
  } catch {
    // not a URL: the cause says what pg made of it
  }
  return new StartupError(
    'database_unreachable',
    `Cannot connect to ${where}: ${messageOf(cause) || 'no answer'}.`,
    {
      hint: 'Check DATABASE_URL and that PostgreSQL is running; unset DATABASE_URL to let Troupe bring its own.',
      cause,
    },
  );
}
