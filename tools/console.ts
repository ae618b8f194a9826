/**
 * Builds the console into `apps/console/dist`, from where the server serves it: `npm run console`. `npm start` does so when what it is made of has
 * changed since. Everything that compresses is there compressed as well, so that no request waits for that.
 * Start reading: `buildConsole`.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = resolve(import.meta.dirname, '..');
export const consoleFolder = join(root, 'apps/console/dist');
const stamp = join(consoleFolder, '.made-of');

/** Answers whether it had to be built. */
export async function buildConsole({ always = false } = {}): Promise<boolean> {
  const sources = fingerprint();
  if (!always && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return false;
  const { build } = await import('vite');
  // Beside it first: who serves it meanwhile, or builds it too, finds a whole one.
  const made = `${consoleFolder}-${process.pid}`;
  // As it is served, also where a test builds it.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  await build({
    configFile: join(root, 'apps/console/vite.config.ts'),
    build: { outDir: made },
    logLevel: 'warn',
  });
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
  compress(made);
  writeFileSync(join(made, '.made-of'), sources);
  rmSync(consoleFolder, { recursive: true, force: true });
  renameSync(made, consoleFolder);
  return true;
}

/** What it is made of, by name, size and time: quick to look at, and wrong only towards building once too often. */
function fingerprint(): string {
  const hash = createHash('sha256');
  const patterns = [
    'apps/console/{src,public}/**/*',
    'apps/console/{index.html,vite.config.ts,package.json}',
    'packages/{protocol,sdk,react,ui}/src/**/*',
    'package-lock.json',
  ];
  for (const file of globSync(patterns, { cwd: root }).sort()) {
    const { size, mtimeMs } = statSync(join(root, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

function compress(folder: string): void {
  for (const file of globSync('**/*.{js,css,html,svg}', { cwd: folder })) {
    const bytes = readFileSync(join(folder, file));
    if (bytes.length < 1_000) continue;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
    writeFileSync(join(folder, `${file}.br`), brotliCompressSync(bytes, { params }));
    writeFileSync(join(folder, `${file}.gz`), gzipSync(bytes));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const began = performance.now();
  const built = await buildConsole({ always: !process.argv.includes('--if-changed') });
  if (built) console.log(`Built the console in ${((performance.now() - began) / 1000).toFixed(1)} s.`);
}
