/**
 * The packages that have many files, each made into one file for the processes of a test run. Importing is most of what a
 * process costs that is soon killed, and a file costs half a millisecond: those of `kysely` alone are 255.
 * The test command uses them through short-ways.ts; whoever installs Troupe does not, nor do the tests of what is packed.
 * Start reading: `bundle`.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const root = resolve(import.meta.dirname, '..');
/** Below the server, so that a package is the version that the server gets. */
const cache = join(root, 'packages/server/node_modules/.cache/bundles');

/** Without state on disk beside their files, and loaded by most processes. */
const packages = [
  'kysely',
  'zod',
  'ajv/dist/2020.js',
  'undici',
  'yaml',
  'jose',
  'hono',
  'hono/cors',
  'hono/http-exception',
  '@hono/node-server',
  '@bufbuild/re2',
  'htmlparser2',
  'csv-parse',
  'croner',
  'pg',
  'ipaddr.js',
  'graphile-worker',
];

/** Answers with what NODE_OPTIONS must hold. Made once for each state of the lockfile. */
export async function bundle(): Promise<string> {
  const state = createHash('sha256').update(process.version);
  for (const file of ['package-lock.json', 'tools/bundles.ts']) state.update(readFileSync(join(root, file)));
  const directory = join(cache, state.digest('hex').slice(0, 16));
  if (!existsSync(directory)) await make(directory);
  const hook = pathToFileURL(join(import.meta.dirname, 'short-ways.ts'));
  hook.search = basename(directory);
  return `--import=${hook.href}`;
}

async function make(directory: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const making = mkdtempSync(join(cache, 'making-'));
  chmodSync(making, 0o755); // tests run programs as other users
  writeFileSync(join(making, 'load.mjs'), 'export const load = (name) => import(name);\n');
  const { load }: { load(name: string): Promise<object> } = await import(join(making, 'load.mjs'));
  const ways: Record<string, string> = {};
  const input: Record<string, string> = {};
  for (const name of packages) {
    // Of another version somewhere else, it is not the same package.
    if (globSync(`packages/!(server)/node_modules/${name}`, { cwd: root }).length > 0) continue;
    const file = name.replaceAll(/\W/g, '-');
    input[file] = join(making, `${file}.entry.mjs`);
    // Named one by one, since those of CommonJS are only known to who has loaded it.
    const names = Object.keys(await load(name)).filter((one) => one !== 'module.exports');
    writeFileSync(input[file], `export { ${names.join(', ')} } from '${name}';\n`);
    ways[name] = `./${file}.mjs`;
  }
  await build({
    input,
    platform: 'node',
    external: ['pg-native'],
    logLevel: 'silent',
    // One build, so that what two of them share is there once.
    output: { dir: making, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: 'shared-[name].mjs' },
  });
  writeFileSync(join(making, 'ways.json'), JSON.stringify(ways));
  try {
    renameSync(making, directory);
  } catch (error) {
    // Another test run was faster; its files are as good.
    if (!existsSync(directory)) throw error;
    rmSync(making, { recursive: true });
  }
}
