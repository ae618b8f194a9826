import { setImmediate } from 'node:timers/promises';
import type { JsonObject, ToolParam } from '@troupe/protocol';
import { argumentProblem, messageOf, schemaProblem } from '../../base/index.ts';

/** What is wrong with schemas, by their text. */
export type Broken = ReadonlyMap<string, string>;

/** What is wrong with parameters, by place. */
export function paramIssues(
  params: readonly ToolParam[],
  broken: Broken = brokenAmong(schemasOf(params)),
): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  const seen = new Set<string>();
  for (const [index, { name, schema, defaultValue: value }] of params.entries()) {
    if (seen.has(name)) issues.push({ path: `${index}.name`, message: `"${name}" stands there twice` });
    seen.add(name);
    const problem = broken.get(JSON.stringify(schema));
    const unfit = problem === undefined && value !== undefined ? defaultProblem(schema, value) : null;
    if (problem !== undefined) issues.push({ path: `${index}.schema`, message: problem });
    if (unfit) issues.push({ path: `${index}.defaultValue`, message: unfit });
  }
  return issues;
}

export function schemasOf(params: readonly ToolParam[]): JsonObject[] {
  return params.map(({ schema }) => schema);
}

function defaultProblem(schema: JsonObject, value: unknown): string | null {
  try {
    return argumentProblem(schema, value, 'the value');
  } catch (error) {
    return messageOf(error);
  }
}

/** So many characters of schemas are looked at in one turn of the process. */
const AT_ONCE = 5_000;
/** Whoever has so many to mend is told of no more. */
const MOST_BROKEN = 100;

/** The same for those of thousands of tools. Compiled one by one they take many seconds, together about one. */
export async function brokenOf(schemas: readonly JsonObject[]): Promise<Broken> {
  const different = new Map(schemas.map((schema) => [JSON.stringify(schema), schema]));
  const broken = new Map<string, string>();
  let batch: JsonObject[] = [];
  let size = 0;
  const look = () => {
    for (const [text, problem] of brokenAmong(batch)) broken.set(text, problem);
    [batch, size] = [[], 0];
  };
  for (const [text, schema] of different) {
    batch.push(schema);
    size += text.length;
    if (size < AT_ONCE) continue;
    look();
    if (broken.size >= MOST_BROKEN) return broken;
    await setImmediate();
  }
  look();
  return broken;
}

/** Compiled together, since each compilation has a price of its own; half by half where that fails. */
function brokenAmong(schemas: readonly JsonObject[]): Broken {
  const [only, ...more] = schemas;
  if (!only) return new Map();
  const properties = Object.fromEntries(schemas.map((schema, index) => [String(index), schema]));
  const problem = schemaProblem({ type: 'object', properties });
  if (!problem) return new Map();
  if (more.length === 0) return new Map([[JSON.stringify(only), schemaProblem(only) ?? problem]]);
  const half = Math.ceil(schemas.length / 2);
  return new Map([...brokenAmong(schemas.slice(0, half)), ...brokenAmong(schemas.slice(half))]);
}
