/**
 * Loaded before the programs of a test run (`node --import`): finds what our sources import without the questions to the
 * file system that Node asks for each import, and takes packages from bundles.ts.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const ours = new URL('../packages/', import.meta.url).href;
const state = new URL(import.meta.url).search.slice(1);
const bundles = new URL(`server/node_modules/.cache/bundles/${state}/ways.json`, ours);
const ways = new Map<string, string>();
for (const name of ['protocol', 'sdk', 'server', 'testing'])
  ways.set(`@troupe/${name}`, `${ours}${name}/src/index.ts`);
for (const [name, file] of Object.entries<string>(JSON.parse(readFileSync(bundles, 'utf8'))))
  ways.set(name, new URL(file, bundles).href);
const formatOf = (url: string) => (url.endsWith('.ts') ? 'module-typescript' : 'module');

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    if (!parentURL?.startsWith(ours)) return next(specifier, context);
    const isFile = specifier.startsWith('.') && specifier.endsWith('.ts');
    const url = isFile ? new URL(specifier, parentURL).href : ways.get(specifier);
    return url ? { url, format: formatOf(url), shortCircuit: true } : next(specifier, context);
  },
});
