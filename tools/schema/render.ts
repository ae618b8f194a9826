import type { Column, Statement } from './catalog.ts';

/** schema.sql: types, tables, constraints and indexes, to read and to compare. */
export function renderSql(statements: Statement[]): string {
  const parts = [
    '-- The tables of the schema `troupe` after all migrations. Written by `npm run schema`; do not edit.',
    '-- Functions and triggers are in functions/.',
  ];
  let kind = '';
  for (const statement of statements) {
    const together =
      statement.kind === kind && ['type', 'sequence', 'foreign key', 'index', 'comment'].includes(kind);
    kind = statement.kind;
    parts.push(`${together ? '' : '\n'}${statement.text};`);
  }
  return `${parts.join('\n')}\n`;
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
