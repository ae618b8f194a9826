import type { Instruction, Json, JsonObject, NetworkTask, Verdict } from '@troupe/protocol';
import { asJson, DEEPEST, type ModelAnswer, type ModelCall } from '../../kernel/index.ts';
import { EMPTY_ANSWER } from '../shared/index.ts';
import { DELEGATE, RESPOND, ROUTE } from './context.ts';

// What a model answered, as the decisions that are judged.

/** One call, one decision; those that are tasks make a group together. */
type Action = Exclude<Instruction['action'], { type: 'TASK_GROUP' }> | NetworkTask;

export interface Decided {
  /** Null: the answer is a text without calls. */
  call: ModelCall | null;
  action: Action;
  /** What is wrong with it before anybody asks whether it is allowed. */
  problem: Verdict | null;
}

export function decisionsOf(
  { text, calls, finishReason }: ModelAnswer,
  mostBytes: number,
  { delegated = false }: { delegated?: boolean } = {},
): Decided[] {
  const respond = delegated ? 'TASK_RESPOND' : 'RESPOND';
  if (calls.length === 0) {
    const problem =
      text.trim() === ''
        ? refused(EMPTY_ANSWER, 'Your answer was empty.')
        : finishReason === 'length'
          ? refused('answer_cut', 'Your answer was cut off because it is too long. Answer with less.')
          : null;
    return [{ call: null, action: { type: respond, payload: text }, problem }];
  }
  const decided = calls.map((call) => decisionOf(call, mostBytes, respond));
  if (calls.length === 1) return decided;
  return decided.map((one) =>
    isTask(one.action) || one.problem
      ? one
      : {
          ...one,
          problem: refused(
            'not_alone',
            `\`${one.call!.name}\` must be the only call of an answer; it was not done. Call it again alone, once you have what you need.`,
          ),
        },
  );
}

/** What may be done beside others. */
export function isTask(action: Action): action is NetworkTask {
  return action.type === 'USE_TOOL' || action.type === 'DELEGATE';
}

function decisionOf(call: ModelCall, mostBytes: number, respond: 'RESPOND' | 'TASK_RESPOND'): Decided {
  const { args, problem: unreadable } = argumentsOf(call, mostBytes);
  if (call.name === RESPOND) {
    const problem = Object.hasOwn(args, 'payload')
      ? null
      : refused('invalid_params', `\`${RESPOND}\` needs \`payload\`: what is answered.`);
    return {
      call,
      action: { type: respond, payload: args.payload ?? null },
      problem: unreadable ?? problem,
    };
  }
  if (call.name === ROUTE) {
    const { agent, context } = args;
    const problem =
      typeof agent === 'string'
        ? null
        : refused('invalid_params', `\`${ROUTE}\` needs \`agent\`: the key of the agent to hand over to.`);
    return {
      call,
      action: {
        type: 'ROUTE_TO_AGENT',
        agent: typeof agent === 'string' ? agent.slice(0, 200) : '',
        ...(context === undefined ? {} : { context }),
      },
      problem: unreadable ?? problem,
    };
  }
  if (call.name === DELEGATE) {
    const { agent, assignment, context } = args;
    const isWhole = typeof agent === 'string' && typeof assignment === 'string';
    return {
      call,
      action: {
        type: 'DELEGATE',
        agent: typeof agent === 'string' ? agent.slice(0, 200) : '',
        assignment: typeof assignment === 'string' ? assignment : '',
        ...(context === undefined ? {} : { context }),
      },
      problem:
        unreadable ??
        (isWhole
          ? null
          : refused(
              'invalid_params',
              `\`${DELEGATE}\` needs \`agent\`, the key of an agent, and \`assignment\`, a text: what is to be done.`,
            )),
    };
  }
  return { call, action: { type: 'USE_TOOL', tool: name(call), params: args }, problem: unreadable };
}

/** As rows can hold them: a context and a payload are kept outside of the calls that they came with. */
function argumentsOf(call: ModelCall, mostBytes: number): { args: JsonObject; problem: Verdict | null } {
  const none = (code: string, why: string) => ({
    args: {},
    problem: refused(code, `The arguments of \`${name(call)}\` ${why}`),
  });
  const notObject = () => none('invalid_params', 'are no JSON object. Call it again with one.');
  if (call.invalid !== undefined) return notObject();
  try {
    const { value, bytes, depth } = asJson(call.arguments);
    if (bytes > mostBytes || depth > DEEPEST)
      return none(
        'arguments_too_large',
        `are too large: at most ${mostBytes} bytes and ${DEEPEST} levels are taken.`,
      );
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return notObject();
    return { args: value, problem: null };
  } catch {
    return notObject();
  }
}

const name = (call: ModelCall) => asJson(call.name.slice(0, 200)).value as string;

function refused(code: string, message: string): Verdict {
  return { status: 'retry', code, message };
}

/** What a step keeps of its decisions. Tasks that were given stand together. */
export function notesOf(judged: readonly (Decided & { verdict: Verdict })[]): Json[] {
  const notes = judged.map((one) => noteOf(one, one.verdict));
  if (!judged.some(({ action }) => action.type === 'DELEGATE')) return notes;
  const isPart = judged.map(({ action }) => isTask(action));
  const tasks = notes.filter((_, place) => isPart[place]);
  return [{ type: 'TASK_GROUP', tasks }, ...notes.filter((_, place) => !isPart[place])];
}

/** What a step keeps of a decision; what was given with it is in the calls and messages of the step. */
function noteOf({ call, action }: Decided, { status, code }: Verdict): Json {
  const named =
    action.type === 'USE_TOOL'
      ? { tool: action.tool }
      : action.type === 'ROUTE_TO_AGENT' || action.type === 'DELEGATE'
        ? { agent: action.agent }
        : {};
  return {
    type: action.type,
    ...named,
    ...(call ? { call: call.id } : {}),
    status,
    ...(code ? { code } : {}),
  };
}
