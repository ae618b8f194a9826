import { execFile, type SpawnOptions } from 'node:child_process';
import { lstat, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../../base/index.ts';
import { program } from './binaries.ts';
import { type EmbeddedHome, letOthersPass } from './embedded-home.ts';

/**
 * As which user Postgres runs. It refuses to run as root, so root hands it to somebody else:
 *   user       another uid, which must be able to reach the data and the binaries
 *   namespace  still root's uid, but shown to Postgres as another one (`unshare -U`); this reaches what only
 *              root can reach, like anything below /root. Files then belong to root.
 * Everybody else runs it as himself.
 */
export interface RunAs {
  kind: 'self' | 'user' | 'namespace';
  /** whom the files of the data directory belong to */
  uid: number;
  gid: number;
  /** the major version of the binaries that were found to run this way */
  major: number;
}

export type Candidate = Omit<RunAs, 'major'>;

const run = promisify(execFile);
const PROBE = 'cd "$1" || exit 97; exec "$2" --version';

export function commandAs(
  as: Candidate,
  file: string,
  args: string[],
): { file: string; args: string[]; options: SpawnOptions } {
  if (process.platform === 'win32') return { file, args, options: {} };
  // No inherited PG* variable or locale may change what Postgres does; the current directory may be closed to it.
  const options: SpawnOptions = {
    cwd: '/',
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  };
  if (as.kind === 'user') return { file, args, options: { ...options, uid: as.uid, gid: as.gid } };
  if (as.kind === 'self') return { file, args, options };
  const mapped = ['-U', '--map-user=65534', '--map-group=65534', '--', file, ...args];
  return { file: 'unshare', args: mapped, options };
}

/** The first way that works; each is tried for real, because modes alone do not tell (ACLs, mounts, seccomp). */
export async function chooseRunAs(
  place: EmbeddedHome,
  binaries: string,
  initialised: boolean,
): Promise<RunAs> {
  const uid = process.getuid?.();
  const failures: string[] = [];
  if (uid === 0) await letOthersPass(place);
  for await (const candidate of uid === 0 ? candidatesOfRoot(place) : candidatesOfUser(uid, initialised)) {
    const found = await probe(candidate, place, binaries);
    if (typeof found === 'number') return { ...candidate, major: found };
    failures.push(`${candidate.kind} ${candidate.uid}: ${found}`);
  }
  throw refusal(place, binaries, uid, failures);
}

async function* candidatesOfRoot(place: EmbeddedHome): AsyncGenerator<Candidate> {
  const seen = new Set([0]);
  const sources = [
    () => lstat(place.data).catch(() => undefined),
    () => lookUp('nobody'),
    () => lookUp('postgres'),
    () => stat(dirname(place.home)), // sudo in the closed home directory of a user
  ];
  for (const source of sources) {
    const user = await source();
    if (!user || user.uid < 0 || seen.has(user.uid)) continue;
    seen.add(user.uid);
    yield { kind: 'user', uid: user.uid, gid: user.gid };
  }
  yield { kind: 'namespace', uid: 0, gid: process.getgid?.() ?? 0 };
}

async function* candidatesOfUser(uid: number | undefined, initialised: boolean): AsyncGenerator<Candidate> {
  // initdb looks up the name of its user; in a container started with an arbitrary uid there is none.
  const named = process.platform === 'win32' || initialised || hasName();
  yield { kind: named ? 'self' : 'namespace', uid: uid ?? 0, gid: process.getgid?.() ?? 0 };
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

async function lookUp(name: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

async function probe(candidate: Candidate, place: EmbeddedHome, binaries: string): Promise<number | string> {
  const postgres = program(binaries, 'postgres');
  const { file, args, options } =
    process.platform === 'win32'
      ? commandAs(candidate, postgres, ['--version'])
      : commandAs(candidate, '/bin/sh', ['-c', PROBE, 'sh', place.dir, postgres]);
  try {
    const { stdout } = await run(file, args, { ...options, shell: false, encoding: 'utf8' });
    const major = /\) (\d+)/.exec(stdout)?.[1];
    return major === undefined ? `unexpected answer ${stdout.trim()}` : Number(major);
  } catch (error) {
    const { code, stderr, message } = error as Error & { code?: number | string; stderr?: string };
    if (code === 97) return `cannot enter ${place.dir}`;
    return (stderr || message).trim().split('\n').at(-1) ?? String(code);
  }
}

function refusal(
  place: EmbeddedHome,
  binaries: string,
  uid: number | undefined,
  failures: string[],
): StartupError {
  const tried = `Tried ${failures.join('; ')}.`;
  if (uid === 0) {
    return new StartupError(
      'postgres_as_root',
      `PostgreSQL does not run as root, and no other user can reach ${place.dir} and ${binaries}. ${tried}`,
      {
        hint: `Start Troupe as a normal user; or set TROUPE_HOME (and install Troupe) where others may pass, for example /var/lib/troupe; or let them pass with "chmod o+x" on the closed parent directory; or set DATABASE_URL.`,
      },
    );
  }
  return new StartupError(
    'postgres_cannot_run',
    `The PostgreSQL in ${binaries} does not run here. ${tried}`,
    {
      hint: `Set DATABASE_URL to a PostgreSQL of your own. The embedded one needs glibc (not Alpine) and a user that has a name in /etc/passwd.`,
    },
  );
}
