import type { ToolParam } from '@troupe/protocol';
import { argumentProblem, messageOf, schemaProblem } from '../../base/index.ts';

/** What is wrong with parameters, by place. */
export function paramIssues(params: readonly ToolParam[]): { path: string; message: string }[] {
  const issues: { path: string; message: string }[] = [];
  const seen = new Set<string>();
  // One schema of all of them is compiled once; only where that fails is it worth the while to look for which.
  const properties = Object.fromEntries(params.map(({ schema }, index) => [String(index), schema]));
  const whole = schemaProblem({ type: 'object', properties });
  for (const [index, { name, schema, default: value }] of params.entries()) {
    if (seen.has(name)) issues.push({ path: `${index}.name`, message: `"${name}" stands there twice` });
    seen.add(name);
    const problem = whole && schemaProblem(schema);
    if (problem) issues.push({ path: `${index}.schema`, message: problem });
    else if (value !== undefined) {
      const unfit = defaultProblem(schema, value);
      if (unfit) issues.push({ path: `${index}.default`, message: unfit });
    }
  }
  if (whole && issues.length === 0) issues.push({ path: '0.schema', message: whole });
  return issues;
}

function defaultProblem(schema: ToolParam['schema'], value: unknown): string | null {
  try {
    return argumentProblem(schema, value, 'the value');
  } catch (error) {
    return messageOf(error);
  }
}
