// npm run bench:peers -- [--only troupe,floor:1rt] [--workloads w1,w2,w3,w4] [--quick] …
// Runs the peers' harness with Troupe as one more system: copies the harness into a scratch folder, adds the adapter,
// installs what the chosen systems need, passes all options through, then prints the ratios that Troupe promises.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findBinaries } from '@troupe/server';
import { printRatios } from './ratios.ts';

const here = dirname(fileURLToPath(import.meta.url));
const harness = resolve(process.env.PEERS_HARNESS ?? join(here, '../../../shared/bench/peers'));
const scratch = resolve(process.env.PEERS_SCRATCH ?? join(tmpdir(), 'troupe-peers'));
const options = process.argv.slice(2);

if (!existsSync(join(harness, 'run.mjs'))) {
  console.error(`No harness at ${harness}. Set PEERS_HARNESS to the folder that holds its run.mjs.`);
  process.exit(1);
}
mkdirSync(scratch, { recursive: true });
cpSync(harness, scratch, {
  recursive: true,
  force: true,
  filter: (path) => !/node_modules|results\.json$/.test(path),
});
spawnSync('chmod', ['-R', 'u+w', scratch]);

writeFileSync(
  join(scratch, 'adapters/troupe.mjs'),
  `import * as scenario from '../lib/scenario.mjs';
import { createAdapter } from '${pathToFileURL(join(here, 'adapter.ts')).href}';
export default createAdapter(scenario);
`,
);
const runner = join(scratch, 'run.mjs');
const source = readFileSync(runner, 'utf8');
if (!source.includes("'troupe:default'")) {
  const with_ = source.replace('const ORDER = [', "const ORDER = ['troupe:default', ");
  if (with_ === source) throw new Error('the harness has no ORDER list to add Troupe to');
  writeFileSync(runner, with_);
}

// The peers' packages are large; the floor and Troupe need only pg.
const only = options[options.indexOf('--only') + 1] ?? '';
const small =
  options.includes('--only') && only.split(',').every((name) => /^(troupe|floor)(:|$)/.test(name));
const install = small
  ? [
      'install',
      '--no-save',
      '--no-package-lock',
      'pg@8.23.1',
      '--omit=dev',
      '--prefix',
      join(scratch, '.small'),
    ]
  : ['install', '--no-audit', '--no-fund'];
if (small) {
  mkdirSync(join(scratch, '.small'), { recursive: true });
  writeFileSync(join(scratch, '.small/package.json'), '{"private": true}\n');
}
run('npm', install, small ? join(scratch, '.small') : scratch);
if (small && !existsSync(join(scratch, 'node_modules'))) {
  cpSync(join(scratch, '.small/node_modules'), join(scratch, 'node_modules'), { recursive: true });
}
if (!small && /vercel/.test(only || 'vercel')) run('npm', ['run', 'build:workflow'], scratch);

const binaries = findBinaries();
const own =
  options.includes('--pg-bin') || !binaries ? [] : ['--pg-bin', join(binaries, 'bin'), '--pg-user', 'nobody'];
const out = join(scratch, 'results.json');
run(
  process.execPath,
  ['run.mjs', '--work', join(scratch, 'work'), '--out', out, ...own, ...options],
  scratch,
);
if (!small) run(process.execPath, ['report.mjs', out], scratch);
const broken = printRatios(JSON.parse(readFileSync(out, 'utf8')));
for (const promise of broken) console.error(`Not held: ${promise}`);
if (broken.length > 0) process.exitCode = 1;

function run(command: string, args: string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
