/**
 * Keeps generated text of the store current: `store/schema.sql` and `store/schema.gen.ts` from the migrations, and the
 * `Called by:` lines in `store/functions` from the sources.
 * `node tools/schema.ts` compares and exits 1 if they differ; with `--write` it writes them. With `--release`, it also writes the signatures
 * that processes of this release call; the next release must keep them.
 * It starts a Postgres of its own, or uses the one that TROUPE_TEST_POSTGRES_URL names (its user must be able to create databases).
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { migrate, silentLogger, startEmbedded } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import pg from 'pg';
import { FUNCTIONS, withCallers } from './schema/callers.ts';
import { readColumns, readStatements } from './schema/catalog.ts';
import { renderSql, renderTypes } from './schema/render.ts';
import { RELEASED, renderSignatures } from './schema/signatures.ts';

const root = resolve(import.meta.dirname, '..');
const SQL = 'packages/server/src/store/schema.sql';
const TYPES = 'packages/server/src/store/schema.gen.ts';
const MOST_LINES = 20;

async function withPostgres<T>(action: (url: string) => Promise<T>): Promise<T> {
  const given = process.env.TROUPE_TEST_POSTGRES_URL;
  if (given) return action(given);
  const home = mkdtempSync(join(tmpdir(), 'troupe-schema-'));
  const postgres = await startEmbedded({ home, logger: silentLogger });
  try {
    return await action(postgres.url);
  } finally {
    await postgres.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

/** The wanted content of the generated files, by path. */
async function generate(postgresUrl: string): Promise<Record<string, string>> {
  const database = await createDatabase(postgresUrl, null);
  try {
    await migrate(database.url);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      const statements = (await readStatements(client)).filter(
        ({ kind }) => kind !== 'function' && kind !== 'trigger',
      );
      return {
        [SQL]: renderSql(statements),
        [TYPES]: renderTypes(await readColumns(client)),
        ...withCallers(),
        ...(process.argv.includes('--release') ? { [RELEASED]: await renderSignatures(client) } : {}),
      };
    } finally {
      await client.end();
    }
  } finally {
    await database.drop();
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The lines that only one side has. */
function difference(found: string, wanted: string): string[] {
  const [here, there] = [found.split('\n'), wanted.split('\n')];
  const [inHere, inThere] = [new Set(here), new Set(there)];
  return [
    ...here.filter((line) => !inThere.has(line)).map((line) => `- ${line}`),
    ...there.filter((line) => !inHere.has(line)).map((line) => `+ ${line}`),
  ];
}

const write = process.argv.includes('--write');
for (const [file, wanted] of Object.entries(await withPostgres(generate))) {
  const path = join(root, file);
  const found = readIfThere(path);
  if (found === wanted) {
    if (!file.startsWith(FUNCTIONS)) console.log(`${file} is up to date`);
  } else if (write) {
    writeFileSync(path, wanted);
    console.log(`${file} written`);
  } else {
    const lines = difference(found, wanted);
    console.log(`${file} is not current; run npm run schema and commit the result:`);
    console.log(lines.slice(0, MOST_LINES).join('\n'));
    if (lines.length > MOST_LINES) console.log(`… and ${lines.length - MOST_LINES} lines more`);
    process.exitCode = 1;
  }
}
