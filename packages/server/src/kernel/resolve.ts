import type { AgentSnapshot, Json, SnapshotTool } from '@troupe/protocol';
import { argumentProblem, messageOf, withoutAbsentNulls } from '../base/index.ts';
import { CallIds } from './call-ids.ts';
import type { MeantCall } from './door.ts';
import { asJson, DEEPEST, type Measured, plainText } from './plain-json.ts';
import type { ModelCall } from './ports.ts';
import type { ResolvedCall } from './state.ts';

const LONGEST_NAME = 200;
/** As many as a refusal tells the model of. */
const MOST_NAMES = 50;

interface Problem {
  code: string;
  message: string;
}

/**
 * Turns what a model asked for into calls that can be made. What cannot be made (an unknown tool, arguments that do not
 * fit) becomes a result that tells the model what to do instead, never the end of the run.
 */
export function resolveCalls(
  snapshot: AgentSnapshot,
  step: number,
  calls: MeantCall[],
  usedIds: Set<string>,
): ResolvedCall[] {
  const named = new CallIds(step, usedIds).all(calls);
  return named.map((call) => {
    const { id } = call;
    usedIds.add(id);
    const name = plainText(call.name.slice(0, LONGEST_NAME));
    const tool = snapshot.tools.find((candidate) => candidate.name === call.name);
    const made = argumentsOf(snapshot, name, call);
    const given = tool ? { ...made, args: givenTo(tool, made.args) } : made;
    const problem = given.problem ?? call.refuse ?? problemOf(snapshot, tool, name, given.args);
    const shown = call.shown ? { shown: call.shown } : {};
    if (problem || !tool)
      return {
        id,
        tool: name,
        args: given.args,
        effect: 'once',
        ...(problem ? { error: problem } : {}),
        ...shown,
      };
    return {
      id,
      tool: tool.name,
      args: given.args,
      effect: tool.effect,
      ...(tool.waitsFor ? { waitsFor: tool.waitsFor, deadlineMs: tool.deadlineMs } : {}),
      ...shown,
    };
  });
}

/** The arguments as they can be stored; whatever cannot be is left out, with the reason. */
function argumentsOf(
  snapshot: AgentSnapshot,
  name: string,
  call: ModelCall,
): { args: Json; problem?: Problem } {
  const notJson = {
    code: 'invalid_arguments',
    message: `The arguments of \`${name}\` are not JSON. Call it again with a JSON object.`,
  };
  if (call.invalid !== undefined) return { args: null, problem: notJson };
  let measured: Measured;
  try {
    measured = asJson(call.arguments);
  } catch {
    return { args: null, problem: notJson };
  }
  const { messageBytes } = snapshot.limits;
  if (measured.bytes <= messageBytes && measured.depth <= DEEPEST) return { args: measured.value };
  return {
    args: {},
    problem: {
      code: 'arguments_too_large',
      message: `The arguments of \`${name}\` are too large or nested too deep; at most ${messageBytes} bytes and ${DEEPEST} levels are taken.`,
    },
  };
}

/** The arguments that the tool gets. A broken schema is reported by `problemOf`. */
export function givenTo({ inputSchema }: SnapshotTool, args: Json): Json {
  return withoutAbsentNulls(inputSchema, args);
}

/** Why a call cannot be made, or null. */
export function problemOf(
  snapshot: AgentSnapshot,
  tool: SnapshotTool | undefined,
  name: string,
  args: Json,
): Problem | null {
  if (!tool) {
    const names = snapshot.tools.slice(0, MOST_NAMES).map((candidate) => candidate.name);
    const more = snapshot.tools.length > MOST_NAMES ? ' and more' : '';
    return {
      code: 'unknown_tool',
      message: `There is no tool \`${name}\`. ${names.length ? `There are: ${names.join(', ')}${more}.` : 'This agent has no tools.'}`,
    };
  }
  try {
    const problem = argumentProblem(tool.inputSchema, args);
    return problem
      ? {
          code: 'invalid_arguments',
          message: `The arguments of \`${tool.name}\` do not fit: ${problem}. Correct them and call it again.`,
        }
      : null;
  } catch (error) {
    return {
      code: 'broken_schema',
      message: `The schema of \`${tool.name}\` cannot be used: ${messageOf(error)}. Its author must correct it.`,
    };
  }
}
