import type { Column, Statement } from './catalog.ts';

/** Leaves room for the semicolon within 120 characters. */
const MAX_WIDTH = 119;
const TOGETHER = ['type', 'sequence', 'foreign key', 'index', 'comment'];

/** schema.sql: types, tables, constraints and indexes, to read and to compare. */
export function renderSql(statements: Statement[]): string {
  const parts = [
    '-- The tables of the schema `troupe` after all migrations. Written by `npm run schema`; do not edit.',
    '-- Functions and triggers are in functions/.',
    'create schema troupe;',
  ];
  let kind = '';
  for (const statement of statements) {
    const together = statement.kind === kind && TOGETHER.includes(kind);
    kind = statement.kind;
    const text = ['function', 'view'].includes(kind) ? statement.text : compact(statement.text);
    parts.push(`${together ? '' : '\n'}${text};`);
  }
  return `${parts.join('\n')}\n`;
}

/** Puts the columns of a table on as few lines as fit; a constraint begins a line of its own. */
function compact(statement: string): string {
  const lines: string[] = [];
  for (const line of statement.split('\n')) {
    const last = lines.at(-1);
    const isColumn = /^ {2}(?!constraint )/.test(line);
    if (isColumn && last?.startsWith('  ') && last.length + line.length < MAX_WIDTH)
      lines[lines.length - 1] = `${last} ${line.trim()}`;
    else lines.push(line);
  }
  return lines.flatMap(wrap).join('\n');
}

/** Breaks a long line between words, never within quotes. */
function wrap(line: string): string[] {
  if (line.length <= MAX_WIDTH) return [line];
  const indent = line.startsWith('  ') ? '    ' : '  ';
  const lines: string[] = [];
  for (const word of line.match(/^ +|(?:'(?:[^']|'')*'|[^\s'])+/g)!) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.trim() === '') lines[lines.length - 1] = last + word;
    else if (last.length + word.length < MAX_WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}

const scalars: Record<string, string> = {
  uuid: 'string',
  text: 'string',
  integer: 'number',
  smallint: 'number',
  'double precision': 'number',
  bigint: 'number', // all of ours stay below 2^53, and the driver is told so
  boolean: 'boolean',
  bytea: 'Buffer',
  int8multirange: 'string', // as Postgres writes it; only functions work with it
};

/** schema.gen.ts: one interface per table, for Kysely. */
export function renderTypes(columns: Column[]): string {
  const tables = Map.groupBy(columns, (column) => column.table);
  const interfaces = [...tables].map(([table, own]) => {
    const fields = own.map((column) => `  ${column.name}: ${typeOf(column)};`);
    return `export interface ${nameOf(table)} {\n${fields.join('\n')}\n}\n`;
  });
  const fields = [...tables.keys()].map((table) => `  ${table}: ${nameOf(table)};`);
  return `// The tables of the schema \`troupe\`. Written by \`npm run schema\` from a migrated database; do not edit.
import type { Json } from '@troupe/protocol';
import type { ColumnType, Generated } from 'kysely';

/** Written as text: the driver would take an array for one of Postgres, and text can be checked (\`toJsonText\`). */
type JsonColumn<Absent = never> = ColumnType<Json, string | Absent, string | Absent>;
type Timestamp<Absent = never> = ColumnType<Date | Exclude<Absent, undefined>, Date | string | Absent, Date | string | Absent>;

${interfaces.join('\n')}
export interface DB {\n${fields.join('\n')}\n}\n`;
}

function typeOf({ table, name, type, nullable, generated, oneOf }: Column): string {
  const absent = [nullable ? 'null' : '', nullable || generated ? 'undefined' : '']
    .filter(Boolean)
    .join(' | ');
  if (type === 'jsonb' || type === 'json') return absent ? `JsonColumn<${absent}>` : 'JsonColumn';
  if (type === 'timestamp with time zone') return absent ? `Timestamp<${absent}>` : 'Timestamp';
  const plain = oneOf?.map((text) => `'${text}'`).join(' | ') ?? scalars[type.replace(/\[\]$/, '')];
  if (!plain) throw new Error(`${table}.${name} is ${type}: tools/schema/render.ts does not know that type`);
  const whole = type.endsWith('[]') ? `${plain.includes('|') ? `(${plain})` : plain}[]` : plain;
  const full = nullable ? `${whole} | null` : whole;
  return generated ? `Generated<${full}>` : full;
}

/** tool_calls → ToolCalls */
function nameOf(table: string): string {
  return table.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
}
