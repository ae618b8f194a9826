import type pg from 'pg';
import { type Logger, StartupError } from '../../base/index.ts';
import { type EmbeddedHome, sweep } from './embedded-home.ts';
import { dataVersion, giveDataTo, initialise } from './initialise.ts';
import { launch } from './launch.ts';
import { connect, ensureDatabase, refuseOwnerElsewhere, takeOwnership } from './ownership.ts';
import { findPostmaster, type Postmaster, stopPostmaster } from './postmaster.ts';
import { chooseRunAs } from './run-as.ts';
import { withStartLock } from './start-lock.ts';

export interface OpenOptions {
  place: EmbeddedHome;
  binaries: string;
  /** this port and no other */
  port: number | undefined;
  logger: Logger;
}

/** A running Postgres that is ours: the session holds the advisory lock for as long as it lives. */
export interface Opened {
  postmaster: Postmaster;
  session: pg.Client;
  adopted: boolean;
}

/** A living postmaster is adopted (or found to be owned); else one is started, on data made first if need be. */
export async function openPostgres(options: OpenOptions): Promise<Opened> {
  return withStartLock(options.place, async () => (await adopt(options)) ?? (await start(options)));
}

/** Only a living postmaster whose lock is free; nothing is started. */
export async function adopt({ place, logger }: OpenOptions): Promise<Opened | undefined> {
  for (;;) {
    const postmaster = await findPostmaster(place.data, logger);
    if (!postmaster) return undefined;
    const session = await connect(place, postmaster);
    if (session) return own(place, postmaster, session, true);
    // It ended while we asked; look again, for it may have left a pid file that is in the way.
  }
}

async function start(options: OpenOptions): Promise<Opened> {
  const { place, binaries, logger } = options;
  await refuseOwnerElsewhere(place);
  await sweep(place);
  const version = await dataVersion(place);
  const as = await chooseRunAs(place, binaries, version !== undefined);
  if (version !== undefined && version !== as.major) {
    throw new StartupError(
      'postgres_version',
      `${place.data} was made by PostgreSQL ${version}; this Troupe brings PostgreSQL ${as.major}.`,
      { hint: `Bring it over with pg_dump of ${version} and an empty TROUPE_HOME, or set DATABASE_URL.` },
    );
  }
  if (version === undefined) await initialise(place, as, binaries, logger);
  await giveDataTo(place, as, logger);
  const postmaster = await launch({ ...options, as });
  try {
    const session = await connect(place, postmaster);
    if (!session)
      throw new StartupError('postgres_start_failed', `PostgreSQL ended at once; see ${place.log}.`);
    return await own(place, postmaster, session, false);
  } catch (error) {
    await stopPostmaster(postmaster, place.data, binaries, logger);
    throw error;
  }
}

async function own(
  place: EmbeddedHome,
  postmaster: Postmaster,
  session: pg.Client,
  adopted: boolean,
): Promise<Opened> {
  try {
    await takeOwnership(place, session, postmaster.port);
    await ensureDatabase(session);
    return { postmaster, session, adopted };
  } catch (error) {
    await session.end().catch(() => {});
    throw error;
  }
}
