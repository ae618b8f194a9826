import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { findBinaries } from '../../src/store/embedded/index.ts';
import { hold, isRoot, kill, listen, NOBODY, query, start, tempDirectory } from './fixture.ts';

const mapping = ['-U', '--map-user=65534', '--map-group=65534'];
const canMap = isRoot && spawnSync('unshare', [...mapping, 'true']).status === 0;
const NAMELESS = 54_321;

function ownedDirectory(uid: number, mode = 0o755): string {
  const path = join(tempDirectory(), 'home');
  mkdirSync(path);
  chownSync(path, uid, uid);
  chmodSync(path, mode);
  return path;
}

function ownerOf(home: string, file: string): number {
  return statSync(join(home, 'postgres', file)).uid;
}

test.skipIf(!isRoot)('a normal user: everything belongs to him and is closed to others', async () => {
  const home = ownedDirectory(NOBODY, 0o700);
  const holder = await hold(home, { uid: NOBODY });
  expect(await query(holder.told.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  for (const file of ['data', 'password', 'postgres.log', 'owner.json'])
    expect(ownerOf(home, file)).toBe(NOBODY);
  expect(statSync(join(home, 'postgres')).mode & 0o077).toBe(0);
  await kill(holder.process, 'SIGTERM');
});

test.skipIf(!isRoot)('root: Postgres runs as another user, who owns the data and nothing else', async () => {
  const home = join(tempDirectory(), 'home');
  await start(home);
  expect(ownerOf(home, 'data')).not.toBe(0);
  for (const file of ['password', 'postgres.log', 'owner.json']) expect(ownerOf(home, file)).toBe(0);
});

test.skipIf(!isRoot)('root on the home of a user leaves it usable for that user', async () => {
  const home = ownedDirectory(NOBODY);
  await kill((await hold(home, { uid: NOBODY })).process, 'SIGTERM');
  const byRoot = await start(home);
  await query(byRoot.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await byRoot.stop();
  const again = await hold(home, { uid: NOBODY });
  expect(await query(again.told.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test.skipIf(!isRoot)('a user on the home of root is told what to do', async () => {
  const home = ownedDirectory(NOBODY);
  await (await start(join(home, 'roots'))).stop();
  const { told } = await hold(join(home, 'roots'), { uid: NOBODY });
  expect(told).toMatchObject({ code: 'home_not_yours', hint: expect.stringContaining('chown -R 65534') });
});

test.skipIf(!isRoot)('a user in a directory he may not write is told what to do', async () => {
  const { told } = await hold(join(tempDirectory(), 'home'), { uid: NOBODY });
  expect(told).toMatchObject({ code: 'home_not_writable', hint: expect.stringContaining('TROUPE_HOME') });
});

test.skipIf(process.platform !== 'linux')('a home where no directory can be made is told of', async () => {
  const { told } = await hold('/proc/troupe-home');
  expect(told).toMatchObject({ code: 'home_not_writable', hint: expect.stringContaining('TROUPE_HOME') });
});

test.skipIf(!canMap)(
  'root below a closed directory works, and the data follows when it is opened',
  async () => {
    const closed = join(tempDirectory(), 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const home = join(closed, 'home');
    const inside = await start(home);
    await query(inside.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    expect(ownerOf(home, 'data')).toBe(0);
    expect(statSync(closed).mode & 0o777).toBe(0o700);
    await inside.stop();

    chmodSync(closed, 0o711);
    const opened = await start(home);
    expect(await query(opened.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    expect(ownerOf(home, 'data')).not.toBe(0);
    await opened.stop();

    chmodSync(closed, 0o700);
    const closedAgain = await start(home);
    expect(await query(closedAgain.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  },
);

test.skipIf(!canMap)('root with binaries that only root can reach works', async () => {
  const closed = join(tempDirectory(), 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const binaries = join(closed, 'package/native');
  cpSync(findBinaries()!, binaries, { recursive: true, verbatimSymlinks: true });
  const home = join(tempDirectory(), 'home');
  const postgres = await start(home, { binaries });
  expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(ownerOf(home, 'data')).toBe(0);
});

test.skipIf(!canMap)('the orphan of a closed directory is adopted and stopped', async () => {
  const closed = join(tempDirectory(), 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const holder = await hold(join(closed, 'home'));
  await kill(holder.process);
  const adopter = await start(join(closed, 'home'));
  expect(adopter.adopted).toBe(true);
  await adopter.stop();
  expect(existsSync(join(closed, 'home/postgres/data/postmaster.pid'))).toBe(false);
});

test.skipIf(!isRoot)('root in the closed directory of a user runs Postgres as that user', async () => {
  const user = statSync('/etc/passwd').uid === 0 ? Number(execFileSync('id', ['-u', 'daemon'])) : NOBODY;
  const closed = ownedDirectory(user, 0o700);
  await start(join(closed, 'home'));
  expect(ownerOf(join(closed, 'home'), 'data')).toBe(user);
});

test.skipIf(!canMap)('root below a closed directory without user namespaces is told what to do', async () => {
  const closed = join(tempDirectory(), 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const script = fileURLToPath(new URL('holder.ts', import.meta.url));
  const hide = 'mount --bind /bin/false "$(command -v unshare)" && exec "$@"';
  const args = ['-m', 'sh', '-c', hide, 'sh', process.execPath, script, join(closed, 'home')];
  const { told } = await listen(spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  expect(told).toMatchObject({ code: 'postgres_as_root', message: expect.stringContaining('cannot enter') });
  expect(told.hint).toContain('chmod o+x');
});

test.skipIf(!canMap)('a user without a name, as containers have them, works', async () => {
  const home = ownedDirectory(NAMELESS);
  const first = await hold(home, { uid: NAMELESS });
  expect(await query(first.told.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await kill(first.process, 'SIGTERM');
  const second = await hold(home, { uid: NAMELESS });
  expect(second.told.url).toBe(first.told.url);
});
