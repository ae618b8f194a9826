import type { Instruction, JsonObject, NetworkTask, SnapshotParam, Verdict } from '@troupe/protocol';
import { argumentProblem, messageOf } from '../../base/index.ts';
import { type Database, sealedOfRun } from '../../store/index.ts';
import type { Network } from './network.ts';
import { sealedName } from './start-item.ts';

// Checks the values of system parameters against their schemas. They come from the operator: an invalid value is an `error`, and
// the message contains nothing of the value.

export interface Opener {
  open(project: string, name: string, sealed: unknown): string;
}

type Judged = { action: Instruction['action'] | NetworkTask; verdict: Verdict };
interface Use {
  tool: string;
  param: SnapshotParam;
  schema: JsonObject;
}

/** Checks the values that a run was given. They are only decrypted if an allowed call uses a parameter with a schema. */
export async function systemParamError(
  db: Database,
  opener: Opener,
  run: { id: string; projectId: string },
  network: Network,
  judged: readonly Judged[],
  given: ReadonlySet<string>,
): Promise<Verdict | null> {
  const uses = usesIn(network, judged).filter(({ param }) => given.has(param.name));
  if (uses.length === 0) return null;
  const sealed = await sealedOfRun(db, run.projectId, run.id);
  if (sealed === null) return null;
  return errorIn(uses, JSON.parse(opener.open(run.projectId, sealedName(run.id), sealed)));
}

/** The same for decrypted values. */
export function systemValueError(
  network: Network,
  judged: readonly Judged[],
  values: JsonObject,
): Verdict | null {
  return errorIn(usesIn(network, judged), values);
}

function usesIn(network: Network, judged: readonly Judged[]): Use[] {
  return judged.flatMap(({ action, verdict }) => {
    const tool =
      action.type === 'USE_TOOL' && verdict.status === 'ok' ? network.tool(action.tool) : undefined;
    if (!tool) return [];
    const { $defs } = network.executed(tool.key)?.inputSchema ?? {};
    return tool.params
      .filter(({ source, schema }) => source === 'system' && Object.keys(schema).length > 0)
      .map((param) => ({
        tool: tool.key,
        param,
        schema: $defs === undefined ? param.schema : { ...param.schema, $defs },
      }));
  });
}

function errorIn(uses: readonly Use[], values: JsonObject): Verdict | null {
  for (const { tool, param, schema } of uses) {
    if (!Object.hasOwn(values, param.name)) continue;
    const problem = problemOf(schema, values[param.name]);
    if (problem !== null)
      return {
        status: 'error',
        code: 'invalid_system_param',
        message: `The system parameter "${param.name}" of the tool "${tool}" does not fit its schema${problem}. Correct it in \`systemParams\` of the invocation.`,
      };
  }
  return null;
}

/** A problem within the value names keys of it, which may be confidential as well. */
function problemOf(schema: JsonObject, value: unknown): string | null {
  try {
    const problem = argumentProblem(schema, value, '');
    if (problem === null) return null;
    return problem.includes('`') ? '' : `: it ${problem.trim()}`;
  } catch (error) {
    return `, which cannot be used: ${messageOf(error)}`;
  }
}
