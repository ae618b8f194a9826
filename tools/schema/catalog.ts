import type pg from 'pg';

/** One object of the schema, as a statement that makes it. */
export interface Statement {
  kind: 'type' | 'sequence' | 'table' | 'foreign key' | 'index' | 'view' | 'function' | 'trigger' | 'comment';
  text: string;
}

export interface Column {
  table: string;
  name: string;
  /** As Postgres writes it: `bigint`, `uuid[]`, `timestamp with time zone`. */
  type: string;
  nullable: boolean;
  /** Has a default, or is made by the database. */
  generated: boolean;
  /** The texts that its enum or a check constraint allows. */
  oneOf: string[] | null;
}

/** Everything in the schema `troupe`. Names are sorted as bytes and always qualified, so that equal schemas give equal text. */
export async function readStatements(client: pg.Client): Promise<Statement[]> {
  await client.query(`set search_path = ''`);
  const statements: Statement[] = [];
  for (const [kind, query] of QUERIES) {
    const { rows } = await client.query<{ text: string }>(query);
    statements.push(...rows.map(({ text }) => ({ kind, text })));
  }
  return statements;
}

export async function readColumns(client: pg.Client): Promise<Column[]> {
  const { rows } = await client.query<Omit<Column, 'oneOf'> & { labels: string[]; checks: string[] }>(
    COLUMNS,
  );
  return rows.map(({ labels, checks, ...column }) => ({
    ...column,
    oneOf: labels.length > 0 ? labels : allowedTexts(checks),
  }));
}

/** `CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text])))` allows two texts. */
function allowedTexts(checks: string[]): string[] | null {
  for (const check of checks) {
    const list = /^CHECK \(\(\w+ = ANY \(ARRAY\[([^\]]+)\]\)\)\)$/.exec(check)?.[1];
    if (list) return [...list.matchAll(/'([^']*)'::text/g)].map((match) => match[1]!);
  }
  return null;
}

const IN_SCHEMA = (column: string) => `${column} = 'troupe'::regnamespace`;
const BY_NAME = (name: string) => `order by ${name} collate "C"`;
/** Whether the default of a column calls the function `p`. */
const IN_DEFAULTS = `exists (select from pg_depend d
  where d.classid = 'pg_attrdef'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid)`;
const functionsWhere = (
  condition: string,
) => `select rtrim(pg_get_functiondef(p.oid), E'\\n') as text from pg_proc p
  where ${IN_SCHEMA('p.pronamespace')} and p.prokind in ('f', 'p') and ${condition} ${BY_NAME('p.oid::regprocedure::text')}`;

const QUERIES: [Statement['kind'], string][] = [
  [
    'type',
    `select format('create type %s as enum (%s)', t.oid::regtype, string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)) as text
      from pg_type t join pg_enum e on e.enumtypid = t.oid where ${IN_SCHEMA('t.typnamespace')} group by t.oid, t.typname ${BY_NAME('t.typname')}`,
  ],
  [
    'type',
    `select format('create type %s as (%s)', c.oid::regclass, string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)) as text
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where ${IN_SCHEMA('c.relnamespace')} and c.relkind = 'c' group by c.oid, c.relname ${BY_NAME('c.relname')}`,
  ],
  [
    'sequence',
    `select format('create sequence %s as %s', c.oid::regclass, s.seqtypid::regtype) as text
      from pg_class c join pg_sequence s on s.seqrelid = c.oid where ${IN_SCHEMA('c.relnamespace')}
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i') ${BY_NAME('c.relname')}`,
  ],
  // Tables need these.
  ['function', functionsWhere(IN_DEFAULTS)],
  [
    'table',
    `select format(E'create %stable %s (\\n%s\\n)%s', case c.relpersistence when 'u' then 'unlogged ' else '' end, c.oid::regclass,
        (select string_agg('  ' || line, E',\\n' order by rank, name collate "C") from (
          select a.attnum::int as rank, '' as name, format('%I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
            case when a.attnotnull then ' not null' else '' end,
            case when a.attidentity <> '' then ' generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity'
              when a.attgenerated <> '' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
              when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end) as line
          from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          union all
          select 10000 + strpos('puxc', n.contype::text), n.conname, format('constraint %I %s', n.conname, pg_get_constraintdef(n.oid))
          from pg_constraint n where n.conrelid = c.oid and n.contype in ('p', 'u', 'x', 'c')
        ) lines),
        coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')) as text
      from pg_class c where ${IN_SCHEMA('c.relnamespace')} and c.relkind = 'r' ${BY_NAME('c.relname')}`,
  ],
  [
    'table',
    `select format('alter table %s alter column %I set storage %s', c.oid::regclass, a.attname,
        case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end) as text
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
      where ${IN_SCHEMA('c.relnamespace')} and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attstorage <> t.typstorage
      order by c.relname collate "C", a.attnum`,
  ],
  [
    'foreign key',
    `select format('alter table %s add constraint %I %s', n.conrelid::regclass, n.conname, pg_get_constraintdef(n.oid)) as text
      from pg_constraint n join pg_class c on c.oid = n.conrelid where ${IN_SCHEMA('c.relnamespace')} and n.contype = 'f'
      order by c.relname collate "C", n.conname collate "C"`,
  ],
  [
    'view',
    `select format(E'create view %s as\\n%s', c.oid::regclass, rtrim(pg_get_viewdef(c.oid), ';')) as text
      from pg_class c where ${IN_SCHEMA('c.relnamespace')} and c.relkind = 'v' order by c.oid`,
  ],
  ['function', functionsWhere(`not ${IN_DEFAULTS}`)],
  // After the functions, which an index may be made with.
  [
    'index',
    `select pg_get_indexdef(i.indexrelid) as text from pg_index i join pg_class c on c.oid = i.indexrelid
      where ${IN_SCHEMA('c.relnamespace')} and not exists (select from pg_constraint n where n.conindid = i.indexrelid and n.contype in ('p', 'u', 'x'))
      ${BY_NAME('c.relname')}`,
  ],
  [
    'trigger',
    `select pg_get_triggerdef(t.oid) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where ${IN_SCHEMA('c.relnamespace')} and not t.tgisinternal order by c.relname collate "C", t.tgname collate "C"`,
  ],
  // Those that are off until they are needed.
  [
    'trigger',
    `select format('alter table %s disable trigger %I', c.oid::regclass, t.tgname) as text from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where ${IN_SCHEMA('c.relnamespace')} and not t.tgisinternal and t.tgenabled = 'D' order by c.relname collate "C", t.tgname collate "C"`,
  ],
  [
    'comment',
    `select format('comment on %s is %s', case when d.objsubid > 0 then format('column %s.%I', c.oid::regclass, a.attname)
        else format('table %s', c.oid::regclass) end, quote_literal(d.description)) as text
      from pg_description d join pg_class c on d.classoid = 'pg_class'::regclass and d.objoid = c.oid
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid
      where ${IN_SCHEMA('c.relnamespace')} and c.relkind = 'r' order by c.relname collate "C", d.objsubid`,
  ],
];

const COLUMNS = `select c.relname as table, a.attname as name, format_type(a.atttypid, null) as type, not a.attnotnull as nullable,
    (a.atthasdef or a.attidentity <> '') as generated,
    array(select e.enumlabel::text from pg_enum e where e.enumtypid = a.atttypid order by e.enumsortorder) as labels,
    array(select pg_get_constraintdef(n.oid) from pg_constraint n where n.conrelid = c.oid and n.contype = 'c' and n.conkey = array[a.attnum]) as checks
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where ${IN_SCHEMA('c.relnamespace')} and c.relkind in ('r', 'v') order by c.relname collate "C", a.attnum`;
