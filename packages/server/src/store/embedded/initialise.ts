import { execFile } from 'node:child_process';
import {
  chown,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Logger, newId, StartupError } from '../../base/index.ts';
import { program } from './binaries.ts';
import { type EmbeddedHome, makePassword, USER } from './embedded-home.ts';
import { commandAs, type RunAs } from './run-as.ts';

const run = promisify(execFile);

/** The major version that made the data directory; undefined where there is none yet. */
export async function dataVersion(place: EmbeddedHome): Promise<number | undefined> {
  const entries = await readdir(place.data).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  if (entries.length === 0) return undefined;
  const version = await readFile(join(place.data, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version !== undefined && entries.includes('global')) return Number.parseInt(version, 10);
  throw new StartupError('data_incomplete', `${place.data} is not a complete PostgreSQL data directory.`, {
    hint: 'Restore it from a backup; or move it away, then Troupe begins with an empty database.',
  });
}

/** Made aside and moved into place when it is complete: a crash leaves an `init-*` directory that nobody uses. */
export async function initialise(
  place: EmbeddedHome,
  as: RunAs,
  binaries: string,
  logger: Logger,
): Promise<void> {
  const scratch = join(place.dir, `init-${newId()}`);
  const passwordFile = join(scratch, 'password');
  await mkdir(scratch, { mode: 0o700 });
  await writeFile(passwordFile, await makePassword(place), { mode: 0o600 });
  if (process.getuid?.() === 0) {
    await chown(passwordFile, as.uid, as.gid);
    await chown(scratch, as.uid, as.gid);
  }
  logger.info({ directory: place.data }, 'making the database directory');
  const { file, args, options } = commandAs(as, program(binaries, 'initdb'), [
    `--pgdata=${join(scratch, 'data')}`,
    `--username=${USER}`,
    '--encoding=UTF8',
    '--locale=C',
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--no-instructions',
  ]);
  try {
    await run(file, args, { ...options, shell: false });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    await rm(scratch, { recursive: true, force: true });
    throw new StartupError(
      'postgres_init_failed',
      `PostgreSQL could not make ${place.data}:\n${(stderr || message).trim()}`,
      { hint: 'Mend what it names and start again, or set DATABASE_URL.' },
    );
  }
  await moveIntoPlace(join(scratch, 'data'), place);
  await rm(scratch, { recursive: true, force: true });
}

async function moveIntoPlace(made: string, place: EmbeddedHome): Promise<void> {
  try {
    await rename(made, place.data);
  } catch (error) {
    // Somebody else was here first; his data directory has the same password.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  if (process.platform === 'win32') return;
  const directory = await open(place.dir);
  await directory.sync().finally(() => directory.close());
}

/** Root can change between the ways of running Postgres; the data follows. Never while a postmaster is alive. */
export async function giveDataTo(place: EmbeddedHome, as: RunAs, logger: Logger): Promise<void> {
  const { uid } = await lstat(place.data);
  if (process.platform === 'win32' || uid === as.uid) return;
  if (process.getuid?.() !== 0) {
    throw new StartupError('home_not_yours', `${place.data} belongs to user id ${uid}, not to ${as.uid}.`, {
      hint: `Start Troupe as root or as that user, or hand it over with "chown -R ${as.uid} ${place.home}".`,
    });
  }
  logger.info(
    { directory: place.data, from: uid, to: as.uid },
    'giving the database directory to another user',
  );
  // The top directory last: if this is interrupted, the next start sees the old owner and begins again.
  for (const entry of await readdir(place.data, { withFileTypes: true, recursive: true })) {
    await lchown(join(entry.parentPath, entry.name), as.uid, as.gid);
  }
  await lchown(place.data, as.uid, as.gid);
}
