import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  link,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { newId, StartupError } from '../../base/index.ts';

/** The database user; the database is named alike. */
export const USER = 'troupe';

/** Where everything of one embedded Postgres lies. Paths are real paths: they are compared with what Postgres reports. */
export interface EmbeddedHome {
  home: string;
  dir: string;
  data: string;
  password: string;
  log: string;
  port: string;
  note: string;
  startLock: string;
  owner: { uid: number; gid: number };
}

export async function openEmbeddedHome(wanted: string): Promise<EmbeddedHome> {
  await makeDirectory(dirname(resolve(wanted)));
  await makeDirectory(join(resolve(wanted), 'postgres'), 0o700);
  const home = await realpath(wanted);
  const dir = join(home, 'postgres');
  const { uid, gid } = await stat(dir);
  const me = process.getuid?.() ?? uid;
  if (me !== 0 && me !== uid) {
    throw new StartupError(
      'home_not_yours',
      `${dir} belongs to user id ${uid}; Troupe runs as user id ${me}.`,
      {
        hint: `Start Troupe as that user, hand the directory over with "chown -R ${me} ${home}", or set TROUPE_HOME to another directory.`,
      },
    );
  }
  return {
    home,
    dir,
    data: join(dir, 'data'),
    password: join(dir, 'password'),
    log: join(dir, 'postgres.log'),
    port: join(dir, 'port'),
    note: join(dir, 'owner.json'),
    startLock: join(dir, 'start.lock'),
    owner: { uid, gid },
  };
}

/** Lets other users pass through the home (not look into it): the data directory below belongs to one of them. */
export async function letOthersPass(place: EmbeddedHome): Promise<void> {
  for (const path of [place.home, place.dir]) {
    const mode = (await stat(path)).mode & 0o7777;
    if ((mode & 0o111) !== 0o111) await chmod(path, mode | 0o111);
  }
}

/** Replaces the file in one step. What root writes into a user's directory belongs to that user. */
export async function putFile(place: EmbeddedHome, path: string, text: string): Promise<void> {
  const scratch = await scratchFile(place, text);
  await rename(scratch, path);
}

/** Creates the file with its content in one step; false where there already is one. */
export async function createFile(place: EmbeddedHome, path: string, text: string): Promise<boolean> {
  const scratch = await scratchFile(place, text);
  try {
    await link(scratch, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(scratch, { force: true });
  }
}

/** Removes what killed processes left. A young file may be in use by a process that waits for the start lock. */
export async function sweep(place: EmbeddedHome): Promise<void> {
  for (const name of await readdir(place.dir)) {
    const path = join(place.dir, name);
    const made = name.startsWith('init-'); // only under the start lock, so nobody is at it
    if (!made && !/^(scratch-|start\.lock\.)/.test(name)) continue;
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? 0);
    if (made || age > 60_000) await rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}

export async function giveToOwner(place: EmbeddedHome, path: string): Promise<void> {
  if (process.getuid?.() === 0 && place.owner.uid !== 0) await chown(path, place.owner.uid, place.owner.gid);
}

/** Written before the data directory exists, so that every data directory of this place has this password. */
export async function makePassword(place: EmbeddedHome): Promise<string> {
  await createFile(place, place.password, `${randomBytes(24).toString('hex')}\n`);
  return readPassword(place);
}

export async function readPassword(place: EmbeddedHome): Promise<string> {
  const text = await readFile(place.password, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new StartupError('password_missing', `The database password ${place.password} is gone.`, {
      hint: `Restore that file from a backup. Without it the data in ${place.data} cannot be opened.`,
    });
  });
  return text.trim();
}

async function scratchFile(place: EmbeddedHome, text: string): Promise<string> {
  const path = join(place.dir, `scratch-${newId()}`);
  await writeFile(path, text, { mode: 0o600, flag: 'wx' });
  await giveToOwner(place, path);
  return path;
}

/** With its parents. Node's own way never ends where a parent is there and takes no directories, as /proc. */
async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    const parentIsThere = await stat(parent).then(
      () => true,
      () => false,
    );
    if (code !== 'ENOENT' || parent === path || parentIsThere) throw error;
    await makeDirectory(parent, mode);
    await makeDirectory(path, mode);
  }
}
