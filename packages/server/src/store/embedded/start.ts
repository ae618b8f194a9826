import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Logger, messageOf, StartupError } from '../../base/index.ts';
import { requireBinaries } from './binaries.ts';
import { beat } from './claim.ts';
import { openEmbeddedHome, readPassword } from './embedded-home.ts';
import { adopt, type Opened, type OpenOptions, openPostgres } from './open.ts';
import { urlOf } from './ownership.ts';
import { stopPostmaster } from './postmaster.ts';

export interface EmbeddedOptions {
  home: string;
  /** default: the port of the last start if it is free, else any free one */
  port?: number;
  logger: Logger;
  /** the directory that holds bin/postgres; default: the package of this platform */
  binaries?: string;
}

export interface EmbeddedPostgres {
  url: string;
  version: string;
  /** whether it was already running, left by a process that died */
  adopted: boolean;
  /** Fast shutdown; resolves when the postmaster is gone and the directory is free. */
  stop(): Promise<void>;
}

const RECOVERY_PAUSE_MS = 500;

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (error) {
    const { code, path, syscall } = error as NodeJS.ErrnoException;
    const unusable = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOTDIR', 'EEXIST'];
    // A parent that takes no directories, as /proc, says that there is none.
    if (!code || !(unusable.includes(code) || (code === 'ENOENT' && syscall === 'mkdir'))) throw error;
    throw new StartupError(
      'home_not_writable',
      `Troupe cannot use ${path ?? options.home}: ${messageOf(error)}`,
      {
        hint: 'Set TROUPE_HOME to a directory that this user may write, or set DATABASE_URL.',
        cause: error,
      },
    );
  }
}

async function start({ home, port, logger, binaries: given }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const binaries = await requireBinaries(given);
  const place = await openEmbeddedHome(home);
  const first: OpenOptions = { place, binaries, port, logger };
  const opened = await openPostgres(first);
  const again: OpenOptions = { ...first, port: opened.postmaster.port }; // the URL has been handed out
  const { rows } = await opened.session.query<{ server_version: string }>('SHOW server_version');
  const stopBeating = beat(place.note);
  let current: Opened | undefined;
  let stopping: Promise<void> | undefined;
  let recovering: Promise<void> | undefined;
  hold(opened);

  function hold(held: Opened): void {
    current = held;
    const lost = () => {
      if (current !== held) return;
      current = undefined;
      if (!stopping) recovering = recover();
    };
    held.session.once('end', lost);
    // It may have ended before anybody listened: Postgres can be gone again as soon as it is back.
    held.session.query('SELECT 1').catch(lost);
  }

  /** A lost session means a lost lock. Usually Postgres restarted by itself; if it is gone it is started again. */
  async function recover(): Promise<void> {
    logger.warn('the embedded PostgreSQL closed the connection that owns it; taking it back');
    while (!stopping) {
      try {
        hold(await openPostgres(again));
        logger.info('the embedded PostgreSQL is ours again');
        return;
      } catch (error) {
        logger.warn({ error: messageOf(error) }, 'the embedded PostgreSQL could not be taken back yet');
        await pause(RECOVERY_PAUSE_MS);
      }
    }
  }

  async function stop(): Promise<void> {
    await recovering;
    // Lost a moment ago: ask for it once more, and stop only what is ours.
    const ours = current ?? (await adopt(again).catch(() => undefined));
    stopBeating();
    if (!ours) return;
    // The note goes before the postmaster: whoever starts next writes his own only after it is gone.
    await rm(place.note, { force: true });
    // The lock is kept until the postmaster ends the session, or the next owner would adopt what is about to stop.
    await stopPostmaster(ours.postmaster, place.data, binaries, logger);
    await ours.session.end().catch(() => {});
  }

  return {
    url: urlOf(opened.postmaster.port, await readPassword(place)),
    version: rows[0]!.server_version,
    adopted: opened.adopted,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}
