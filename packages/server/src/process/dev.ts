import { join } from 'node:path';
import type { Services } from '../http/index.ts';
import { type Database, type EmbeddedPostgres, startEmbedded } from '../store/index.ts';
import { openCodeTools } from './code-tools.ts';
import {
  type DatabaseAddress,
  openDatabase,
  openHttp,
  openServices,
  openWork,
  type Program,
} from './program.ts';
import { tell } from './tell.ts';

/** Everything in one process, with a Postgres of its own where no DATABASE_URL is set. */
export async function dev(program: Program): Promise<void> {
  let db: Database | null = null;
  let services: Services | null = null;
  // Side by side: the port is known to be free before much has happened. Where both fail, who holds the home is the
  // better answer than that the port is taken.
  const [database, http] = await Promise.allSettled([
    openAddress(program),
    openHttp(
      program,
      () => db,
      () => services,
    ),
  ]);
  if (database.status === 'rejected') throw database.reason;
  if (http.status === 'rejected') throw http.reason;

  db = await openDatabase(program, database.value);
  await openCodeTools(program, db);
  services = await openServices(program, db, await openWork(program, db));
  program.life.ready();
  const { url } = http.value;
  const data = database.value.where;
  tell(program, { url, data }, banner(program, url, data));
}

async function openAddress({ life, config, logger }: Program): Promise<DatabaseAddress & { where: string }> {
  const { databaseUrl, databaseDirectUrl, home } = config;
  if (databaseUrl !== null && databaseDirectUrl !== null) {
    const { host, pathname } = new URL(databaseUrl);
    return { url: databaseUrl, directUrl: databaseDirectUrl, where: `${host}${pathname}` };
  }
  const postgres: EmbeddedPostgres = await life.open(
    'postgres',
    () => startEmbedded({ home, logger }),
    (opened) => opened.stop(),
  );
  const how = postgres.adopted ? ' (was still running)' : '';
  const where = `${join(home, 'postgres')}, PostgreSQL ${postgres.version}${how}`;
  return { url: postgres.url, directUrl: postgres.url, where };
}

function banner({ version }: Program, url: string, where: string): string {
  const seconds = (performance.now() / 1_000).toFixed(1);
  return `
  Troupe ${version} is at ${url}
  data      ${where}
  started   in ${seconds} s; Ctrl-C stops it, the data stays
`;
}
