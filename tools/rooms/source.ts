import { parseSync, Visitor } from 'rolldown/utils';

export interface Import {
  from: string;
  at: number;
  typeOnly: boolean;
}

/** The parts of a source file that the rooms have rules for, with their offsets. */
export interface Source {
  imports: Import[];
  environmentReads: number[];
  sqlUses: number[];
}

/** Guesses by the beginning of a text. */
const SQL = [
  /^\s*select\s[\s\S]+\sfrom\s|^\s*select\s+pg_|^\s*with\s+\w+\s+as\s*\(/i,
  /^\s*(insert\s+into|update\s+\S+\s+set|delete\s+from)\s/i,
  /^\s*(create|alter|drop)\s+(table|index|function|type|schema|database|role)\s/i,
  /^\s*((un)?listen|notify)\s+\w+(,|$)/i,
];
/** A sentence for people, such as "Select an agent from the list". */
const PROSE = /^\s*[A-Z][a-z]/;

type Visited = Required<NonNullable<ConstructorParameters<typeof Visitor>[0]>>;
type Expression = Parameters<Visited['ImportExpression']>[0]['source'];
type Pattern =
  | Parameters<Visited['VariableDeclarator']>[0]['id']
  | Parameters<Visited['AssignmentExpression']>[0]['left'];

/** Throws if the file cannot be parsed. */
export function readSource(file: string, text: string): Source {
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  const source: Source = { imports: [], environmentReads: [], sqlUses: [] };
  const addImport = (from: string | null, at: number, kind?: string) => {
    if (from !== null) source.imports.push({ from, at, typeOnly: kind === 'type' });
  };
  const addText = (value: string, at: number) => {
    if (SQL.some((start) => start.test(value)) && !PROSE.test(value)) source.sqlUses.push(at);
  };
  const addDestructuring = (pattern: Pattern, from: Expression | null, at: number) => {
    if (pattern.type !== 'ObjectPattern' || !from || lastName(from) !== 'process') return;
    if (pattern.properties.some((one) => one.type === 'Property' && propertyName(one.key) === 'env'))
      source.environmentReads.push(at);
  };
  new Visitor({
    ImportDeclaration({ source: { value }, start, importKind, specifiers }) {
      addImport(value, start, importKind);
      const isEnv = specifiers.some(
        (one) => one.type === 'ImportSpecifier' && propertyName(one.imported) === 'env',
      );
      if (isEnv && /^(node:)?process$/.test(value)) source.environmentReads.push(start);
    },
    ExportAllDeclaration({ source: { value }, start, exportKind }) {
      addImport(value, start, exportKind);
    },
    ExportNamedDeclaration({ source: from, start, exportKind }) {
      if (from) addImport(from.value, start, exportKind);
    },
    ImportExpression({ source: from, start }) {
      addImport(stringIn(from), start);
    },
    TSImportType({ source: from, start }) {
      addImport(from.value, start, 'type');
    },
    CallExpression({ callee, arguments: [first], start }) {
      if (
        callee.type === 'Identifier' &&
        callee.name === 'require' &&
        first &&
        first.type !== 'SpreadElement'
      )
        addImport(stringIn(first), start);
      if (callee.type !== 'MemberExpression' || lastName(callee) !== 'query') return;
      // A handler reads the query of its request.
      if (!/^req(uest)?$/.test(lastName(callee.object) ?? '')) source.sqlUses.push(callee.property.start);
    },
    MemberExpression(node) {
      if (lastName(node) === 'env' && lastName(node.object) === 'process')
        source.environmentReads.push(node.start);
    },
    VariableDeclarator({ id, init, start }) {
      addDestructuring(id, init, start);
    },
    AssignmentExpression({ left, right, start }) {
      addDestructuring(left, right, start);
    },
    Literal({ value, start }) {
      if (typeof value === 'string') addText(value, start);
    },
    TemplateElement({ value, start }) {
      addText(value.cooked ?? value.raw, start);
    },
  }).visit(program);
  return source;
}

/** The name of a variable, or of the last property of `a.b` and `a['b']`. */
function lastName(node: Expression | { type: 'Super' }): string | null {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'ChainExpression') return lastName(node.expression);
  if (node.type !== 'MemberExpression') return null;
  if (!node.computed) return propertyName(node.property);
  return stringIn(node.property);
}

function propertyName(node: { type: string; name?: unknown; value?: unknown }): string | null {
  const name = node.type === 'Identifier' ? node.name : node.type === 'Literal' ? node.value : null;
  return typeof name === 'string' ? name : null;
}

/** Null if the value is computed at run time. */
function stringIn(node: Expression): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node.type !== 'TemplateLiteral' || node.expressions.length > 0) return null;
  return node.quasis[0]?.value.cooked ?? null;
}
