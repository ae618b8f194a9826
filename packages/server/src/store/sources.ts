import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

export interface Migration {
  id: number;
  name: string;
  /** An older program must not work on a schema that has it. */
  breaking: boolean;
  sql: string;
}

/** One `create function` or `create trigger` statement of a file under functions/. */
export interface SourceObject {
  kind: 'function' | 'trigger';
  name: string;
  /** The table of a trigger. */
  table?: string;
  /** Tables need it: it is created before the migrations run. */
  base: boolean;
  file: string;
  sql: string;
  checksum: string;
}

const MIGRATIONS = new URL('./migrations/', import.meta.url);
const FUNCTIONS = new URL('./functions/', import.meta.url);
/** Starts a new statement; everything before the next match belongs to it. */
const STATEMENT = /^create (?:or replace )?(?:constraint )?(function|trigger) (?:troupe\.)?(\w+)/gm;

export function readMigrations(): Migration[] {
  return readdirSync(MIGRATIONS)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, MIGRATIONS), 'utf8');
      const breaking = /^-- breaking: (true|false)$/m.exec(sql)?.[1];
      const id = Number(/^(\d{4})_/.exec(file)?.[1]);
      if (breaking === undefined || !id)
        throw new Error(`migration ${file} needs a number and a "-- breaking:" line`);
      return { id, name: file.replace(/\.sql$/, ''), breaking: breaking === 'true', sql };
    });
}

/** Every function and trigger of the schema, in the order of their files. */
export function readSourceObjects(): SourceObject[] {
  return readdirSync(FUNCTIONS, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .flatMap((file) => parseSourceFile(file, readFileSync(new URL(file, FUNCTIONS), 'utf8')));
}

/** Splits `<area>/<name>.sql` into its function and the triggers that execute it. */
export function parseSourceFile(file: string, text: string): SourceObject[] {
  const starts = [...text.matchAll(STATEMENT)];
  const objects = starts.map((start, index): SourceObject => {
    const sql = text.slice(start.index, starts[index + 1]?.index ?? text.length);
    const [, kind, name] = start as unknown as [string, SourceObject['kind'], string];
    const table = kind === 'trigger' ? / on troupe\.(\w+)/.exec(sql.replace(/\s+/g, ' '))?.[1] : undefined;
    const checksum = createHash('sha256').update(sql).digest('hex').slice(0, 16);
    return { kind, name, ...(table && { table }), base: file.startsWith('base/'), file, sql, checksum };
  });
  const [first, ...rest] = objects;
  const expected = /([^/]+)\.sql$/.exec(file)![1];
  if (first?.kind !== 'function' || first.name !== expected || rest.some(({ kind }) => kind !== 'trigger'))
    throw new Error(`functions/${file} must define the function troupe.${expected}, then only its triggers`);
  return objects;
}
