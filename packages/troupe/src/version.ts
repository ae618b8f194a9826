import { readFileSync } from 'node:fs';

/** The packages are released together: the server's version is the same. */
export function versionOf(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
