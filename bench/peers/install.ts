/**
 * Installs the peers on first use, into bench/peers/node_modules. A system whose packages or programs are missing is
 * skipped with the reason; Troupe and the floor need none.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf, type System } from './systems.ts';

const folder = import.meta.dirname;
const modules = join(folder, 'node_modules');
const stamp = join(modules, '.installed');

export interface Available {
  systems: System[];
  /** Reasons by system. */
  skipped: Record<string, string>;
}

export function installPeers(systems: System[]): Available {
  const skipped: Record<string, string> = {};
  const failure = systems.some(({ packages }) => packages.length > 0) ? install() : undefined;
  const available = systems.filter((system) => {
    const reason = reasonToSkip(system, failure);
    if (reason !== undefined) skipped[keyOf(system)] = reason;
    return reason === undefined;
  });
  return { systems: available, skipped };
}

/** The version of every package that the systems use. */
export function installedVersions(systems: System[]): Record<string, string> {
  const names = [...new Set(systems.flatMap(({ packages }) => packages))].sort();
  return Object.fromEntries(names.map((name) => [name, readManifest(name).version]));
}

/** What went wrong, if anything. */
function install(): string | undefined {
  const lockfile = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockfile) return undefined;
  console.log('Installing the peers into bench/peers/node_modules (first use; about 800 MB) …');
  // No package needs its install script here, and none of the scripts is ours to trust.
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  const { status, error } = npm
    ? spawnSync(process.execPath, [npm, ...args], { cwd: folder, stdio: 'inherit', env: ownEnvironment() })
    : spawnSync('npm', args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) return `"npm ci" in bench/peers failed (${error?.message ?? `exit ${status}`})`;
  writeFileSync(stamp, lockfile);
  return undefined;
}

/** Without the settings that `npm run` passes down: they name the root package. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
}

function reasonToSkip(system: System, failure: string | undefined): string | undefined {
  const missing = system.packages.filter((name) => !existsSync(join(modules, name, 'package.json')));
  if (missing.length > 0) return failure ?? `${missing.join(', ')} is not installed`;
  if (system.name === 'restate' && !existsSync(restateServer())) {
    return `@restatedev/restate-server has no program for ${process.platform}-${process.arch}`;
  }
  if (system.name === 'vercel-workflow') return buildWorkflow();
  return undefined;
}

export function restateServer(): string {
  const platform = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  return join(modules, platform, 'bin/restate-server');
}

/** Compiles the workflow with the SDK's own command, if a source is newer than the last build. */
function buildWorkflow(): string | undefined {
  const output = 'adapters/external/workflow/.well-known';
  const manifest = `${output}/workflow/v1/manifest.json`;
  const sources = [
    'adapters/external/workflow/agent.ts',
    'adapters/external/message-table.ts',
    'scenario.ts',
  ];
  const changedAt = Math.max(...sources.map(modifiedAt), modifiedAt('node_modules/.installed'));
  if (modifiedAt(manifest) > changedAt) return undefined;
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [join(modules, 'workflow/bin/run.js'), 'build'],
    { cwd: join(folder, 'adapters/external/workflow'), encoding: 'utf8' },
  );
  if (status !== 0) return `"workflow build" failed: ${(stderr || stdout).trim().slice(-400)}`;
  // The bundles are CommonJS; the package around them is not.
  writeFileSync(join(folder, output, 'package.json'), '{ "type": "commonjs" }\n');
  return undefined;
}

/** 0 if there is no such file. */
function modifiedAt(path: string): number {
  return statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function readManifest(name: string): { version: string } {
  return JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
}
