import type { NetworkProblem, NetworkToolDefinition, SnapshotParam } from '@troupe/protocol';
import { writtenProblem } from '../../base/index.ts';
import { fold } from './compile.ts';
import { type Facts, secretsIn } from './facts.ts';
import { parametersOf } from './params.ts';
import { misfit, problem } from './problem.ts';

/** What the model calls to decide something itself. */
const DECISIONS = new Set(['respond', 'route_to_agent', 'delegate_to_agent']);

/** What is wrong with a tool of a network, as it is there. */
export function toolProblems(
  { key, params: override }: NetworkToolDefinition,
  { tools, secrets, pins }: Facts,
): NetworkProblem[] {
  const path = `tools.${key}`;
  const row = tools.get(fold(key));
  if (!row) return [problem(path, 'tool_not_found', `There is no tool "${key}" in the project.`)];
  const problems: NetworkProblem[] = [];
  if (DECISIONS.has(fold(key)))
    problems.push(
      problem(path, 'key_reserved', `"${key}" is what agents call to decide; no tool can have it.`),
    );
  for (const name of secretsIn(row).filter((name) => !secrets.has(name)))
    problems.push(problem(path, 'secret_missing', `"${key}" needs the secret "${name}", which is not set.`));
  const pin = pins.get(fold(key));
  if (pin && 'code' in pin) problems.push(problem(`${path}.${row.kind}`, pin.code, pin.message));
  const broken =
    row.input_schema.type === 'object' ? writtenProblem(row.input_schema) : 'it describes no object';
  if (broken)
    return [
      ...problems,
      problem(`${path}.inputSchema`, 'schema_invalid', `The schema of "${key}" cannot be used: ${broken}.`),
    ];
  const given = override ?? row.params;
  if (given === null) return problems;
  const { params, inputSchema } = parametersOf(row.input_schema, given);
  const wrong = paramProblems(`${path}.params`, params, row.input_schema.$defs);
  // All of them may be good alone, and refer to something that is not there together.
  const together = wrong.length === 0 ? writtenProblem(inputSchema) : null;
  return [
    ...problems,
    ...wrong,
    ...(together
      ? [problem(`${path}.params`, 'schema_invalid', `The parameters cannot be used: ${together}.`)]
      : []),
  ];
}

function paramProblems(path: string, params: SnapshotParam[], $defs: unknown): NetworkProblem[] {
  const seen = new Set<string>();
  return params.flatMap((param, at) => {
    const { name, source, required } = param;
    const where = `${path}.${at}`;
    if (seen.has(name)) return [problem(`${where}.name`, 'param_taken', `"${name}" is there twice.`)];
    seen.add(name);
    const schema = $defs === undefined ? param.schema : { ...param.schema, $defs: $defs as never };
    const broken = writtenProblem(schema);
    if (broken)
      return [
        problem(`${where}.schema`, 'schema_invalid', `The schema of "${name}" cannot be used: ${broken}.`),
      ];
    if (param.defaultValue === undefined) {
      return source === 'default' && required
        ? [
            problem(
              `${where}.defaultValue`,
              'default_missing',
              `The parameter "${name}" has the source \`default\` and needs a \`defaultValue\`.`,
            ),
          ]
        : [];
    }
    if (Object.keys(param.schema).length === 0) return [];
    const wrong = misfit(schema, param.defaultValue, 'the default');
    return wrong
      ? [problem(`${where}.defaultValue`, 'default_invalid', `It does not fit the schema: ${wrong}.`)]
      : [];
  });
}
