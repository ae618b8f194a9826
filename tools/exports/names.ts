import { parseSync, Visitor } from 'rolldown/utils';

/** What a source file exports, and what it imports from where. */
export interface Names {
  /** Names by their offset; `*` where all names of another file are exported. */
  exported: { name: string; at: number }[];
  imported: { from: string; name: string }[];
}

/** Throws if the file cannot be parsed. */
export function readNames(file: string, text: string): Names {
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  const names: Names = { exported: [], imported: [] };
  const namespaces = new Map<string, string>();
  const addExport = (node: Named | null, at: number) => {
    const name = nameOf(node);
    if (name !== null) names.exported.push({ name, at });
  };
  const addImport = (from: string, node: Named | null) => {
    const name = nameOf(node);
    if (name !== null) names.imported.push({ from, name });
  };
  new Visitor({
    ImportDeclaration({ source, specifiers }) {
      for (const one of specifiers) {
        if (one.type === 'ImportSpecifier') addImport(source.value, one.imported);
        if (one.type === 'ImportNamespaceSpecifier') namespaces.set(one.local.name, source.value);
      }
    },
    ExportAllDeclaration({ exported, start }) {
      addExport(exported ?? { type: 'Literal', value: '*' }, start);
    },
    ExportNamedDeclaration({ source, specifiers, declaration, start }) {
      for (const { local, exported, start: at } of specifiers) {
        addExport(exported, at);
        if (source) addImport(source.value, local);
      }
      if (declaration?.type === 'VariableDeclaration') {
        for (const { id } of declaration.declarations) addExport(id, start);
      } else if (declaration && 'id' in declaration) addExport(declaration.id as Named | null, start);
    },
    VariableDeclarator({ id, init }) {
      if (id.type !== 'ObjectPattern' || init?.type !== 'AwaitExpression') return;
      const { argument } = init;
      if (argument.type !== 'ImportExpression' || argument.source.type !== 'Literal') return;
      for (const one of id.properties)
        if (one.type === 'Property') addImport(String(argument.source.value), one.key);
    },
    MemberExpression({ object, property }) {
      const from = object.type === 'Identifier' ? namespaces.get(object.name) : undefined;
      if (from !== undefined) addImport(from, property);
    },
    TSQualifiedName({ left, right }) {
      const from = left.type === 'Identifier' ? namespaces.get(left.name) : undefined;
      if (from !== undefined) addImport(from, right);
    },
  }).visit(program);
  return names;
}

interface Named {
  type: string;
  name?: unknown;
  value?: unknown;
}

function nameOf(node: Named | null): string | null {
  const name = node?.type === 'Identifier' ? node.name : node?.type === 'Literal' ? node.value : null;
  return typeof name === 'string' ? name : null;
}
