import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'rolldown/utils';

type Visited = Required<NonNullable<ConstructorParameters<typeof Visitor>[0]>>;
type Call = Parameters<Visited['CallExpression']>[0];

export interface Title {
  /** As it is written: `test.each` and template literals keep their placeholders. */
  title: string;
  /** The titles of the groups around it, outermost first. */
  groups: string[];
}

/** The titles of the tests in a file. */
export function readTitles(path: string): Title[] {
  const text = readFileSync(path, 'utf8');
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const groups: { title: string; start: number; end: number }[] = [];
  const tests: { title: string; start: number }[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [first], start, end }) {
      const name = first && nameOf(callee);
      const title = first && titleIn(first, text);
      if (title === undefined) return;
      if (name === 'describe') groups.push({ title, start, end });
      if (name === 'test' || name === 'it') tests.push({ title, start });
    },
  }).visit(program);
  const outermostFirst = groups.toSorted((one, other) => one.start - other.start);
  return tests.map(({ title, start }) => ({
    title,
    groups: outermostFirst
      .filter((group) => group.start < start && start < group.end)
      .map((group) => group.title),
  }));
}

function titleIn(argument: Call['arguments'][number], text: string): string | undefined {
  if (argument.type === 'Literal' && typeof argument.value === 'string') return argument.value;
  if (argument.type === 'TemplateLiteral') return text.slice(argument.start + 1, argument.end - 1);
  return undefined;
}

/** `test` of `test(…)`, `test.skipIf(…)(…)` and `test.each(…)(…)`. */
function nameOf(callee: Call['callee']): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'CallExpression') return nameOf(callee.callee);
  if (callee.type === 'TaggedTemplateExpression') return nameOf(callee.tag);
  return callee.type === 'MemberExpression' ? nameOf(callee.object as Call['callee']) : undefined;
}
