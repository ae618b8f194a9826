/**
 * Makes the packages that others install: `npm run pack [folder]` writes a tarball of each, by default into `dist/`.
 * Inside the repository a package is its sources. Node does not strip types below node_modules, so what is packed is a
 * staged copy: JavaScript and declarations in `dist`, and a package.json that points there.
 * Start reading: `pack`.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');

/** By the configuration that they are compiled with: those for pages know the DOM and JSX. */
const packages = {
  'tsconfig.json': ['protocol', 'sdk', 'server', 'testing', 'troupe'],
  'tsconfig.web.json': ['react', 'ui'],
};
/** The page that npm shows of a package. */
const pages: Record<string, string> = {
  sdk: 'docs/sdk.md',
  server: 'README.md',
  troupe: 'README.md',
  react: 'docs/react.md',
  ui: 'docs/ui.md',
};

/** Answers with the paths of the tarballs. Without `check`, types are taken to be right: `npm test` has looked at them. */
export function pack(folder: string, { check = true } = {}): string[] {
  const stage = mkdtempSync(join(root, 'node_modules/.pack-'));
  try {
    run(process.execPath, [join(root, 'tools/console.ts'), '--if-changed']);
    const folders = Object.entries(packages).flatMap(([config, names]) => {
      const built = compile(stage, { config, names, check });
      return names.map((name) => stagePackage(stage, name, built));
    });
    mkdirSync(folder, { recursive: true });
    const packed = run('npm', [
      'pack',
      '--json',
      '--ignore-scripts',
      '--pack-destination',
      folder,
      ...folders,
    ]);
    return filesIn(packed).map((file) => join(folder, file));
  } finally {
    rmSync(stage, { recursive: true });
  }
}

/**
 * One program for all packages of a kind, so that they are checked against each other's sources and not against an older build. Answers with
 * where it is.
 */
function compile(
  stage: string,
  { config, names, check }: { config: string; names: string[]; check: boolean },
): string {
  const built = join(stage, `build-${config}`);
  const options = {
    extends: join(root, config),
    compilerOptions: {
      noEmit: false,
      noCheck: !check,
      declaration: true,
      rootDir: join(root, 'packages'),
      outDir: built,
    },
    include: names.map((name) => join(root, 'packages', name, 'src')),
    exclude: [],
  };
  const file = join(stage, config);
  writeFileSync(file, JSON.stringify(options));
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded', '-p', file]);
  return built;
}

function stagePackage(stage: string, name: string, built: string): string {
  const [from, to] = [join(root, 'packages', name), join(stage, name)];
  mkdirSync(to);
  renameSync(join(built, name, 'src'), join(to, 'dist'));
  nameCompiledFiles(join(to, 'dist'));
  const source = join(from, 'src');
  // What is no program, migrations above all, stands beside the program that reads it.
  for (const file of globSync('**/*.*', { cwd: source })) {
    if (file.endsWith('.css')) continue;
    if (!/\.tsx?$/.test(file)) cpSync(join(source, file), join(to, 'dist', file));
  }
  // The console is served by the server, and is no package of its own.
  if (name === 'server') {
    const filter = (file: string) => basename(file) !== '.made-of';
    cpSync(join(root, 'apps/console/dist'), join(to, 'dist/console'), { recursive: true, filter });
  }
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'));
  if (pages[name] && existsSync(join(root, pages[name])))
    cpSync(join(root, pages[name]), join(to, 'README.md'));
  const manifest = manifestOf(JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')));
  for (const file of filesNamedIn(manifest)) {
    // One file, so that a page asks for one.
    if (file.endsWith('.css'))
      writeFileSync(join(to, file), styleOf(join(source, file.replace('./dist/', ''))));
    if (!existsSync(join(to, file)))
      throw new Error(`${name} would be packed without ${file}, which it names`);
  }
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return to;
}

/** A style sheet with those that it imports in their places. */
function styleOf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/^@import "(\..+?)";$/gm, (_, path: string) =>
    styleOf(join(dirname(file), path)).trim(),
  );
}

/** The compiler renames the imports of programs and leaves those of declarations. */
function nameCompiledFiles(folder: string): void {
  for (const file of globSync('**/*.d.ts', { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8');
    writeFileSync(
      join(folder, file),
      text.replaceAll(/((?:from |import\()['"]\.[^'"]*)\.tsx?(?=['"])/g, '$1.js'),
    );
  }
}

interface Manifest {
  exports: Record<string, string | { types: string; default: string }>;
  bin?: Record<string, string>;
  [field: string]: unknown;
}

/** The package.json of the sources, with everything that it names turned to what was compiled. */
function manifestOf(source: Manifest): Manifest {
  const compiled = (file: string, ending: string) =>
    file.replace(/^\.\/src\/(.+)\.tsx?$/, (_, path: string) => `./dist/${path}${ending}`);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const { bin, exports, ...rest } = source;
  const entries = Object.entries(exports) as [string, string][];
  return {
    ...rest,
    engines,
    files: ['dist'],
    ...(bin ? { bin: mapValues(bin, (file) => compiled(file, '.js')) } : {}),
    exports: Object.fromEntries(
      entries.map(([name, file]) => [
        name,
        file.endsWith('.css')
          ? file.replace('./src/', './dist/')
          : { types: compiled(file, '.d.ts'), default: compiled(file, '.js') },
      ]),
    ),
  };
}

function filesNamedIn({ exports, bin = {} }: Manifest): string[] {
  return [
    ...Object.values(bin),
    ...Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    ),
  ];
}

function mapValues(given: Record<string, string>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, change(value)]));
}

/** npm lists what it packed; newer ones by name. */
function filesIn(json: string): string[] {
  const packed = JSON.parse(json) as { filename: string }[] | Record<string, { filename: string }>;
  return Object.values(packed).map(({ filename }) => filename);
}

function run(program: string, args: string[]): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args[0]} failed:\n${stdout}${stderr}`);
  return stdout;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const file of pack(resolve(process.argv[2] ?? 'dist'))) console.log(file);
}
