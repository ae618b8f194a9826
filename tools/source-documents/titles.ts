import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'rolldown/utils';

type Visited = Required<NonNullable<ConstructorParameters<typeof Visitor>[0]>>;
type Callee = Parameters<Visited['CallExpression']>[0]['callee'];

/** The titles of the tests in a file, as they are written: `test.each` and template literals keep their placeholders. */
export function readTitles(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const titles: string[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (!title || !isTest(callee)) return;
      if (title.type === 'Literal' && typeof title.value === 'string') titles.push(title.value);
      if (title.type === 'TemplateLiteral') titles.push(text.slice(title.start + 1, title.end - 1));
    },
  }).visit(program);
  return titles;
}

/** `test(…)`, `it.skipIf(…)(…)`, `test.each(…)(…)`. */
function isTest(callee: Callee): boolean {
  if (callee.type === 'Identifier') return callee.name === 'test' || callee.name === 'it';
  if (callee.type === 'CallExpression') return isTest(callee.callee);
  if (callee.type === 'TaggedTemplateExpression') return isTest(callee.tag);
  return callee.type === 'MemberExpression' && isTest(callee.object as Callee);
}
