import type { AgentSnapshot, SnapshotTool } from '@troupe/protocol';
import { messageOf } from '../base/index.ts';
import { argumentProblem } from './arguments.ts';
import type { ModelCall } from './ports.ts';
import type { ResolvedCall } from './state.ts';

/** JSON nested deeper than this is refused: nobody needs it, and it can exhaust a parser's stack. */
const DEEPEST = 64;

/**
 * Turns what a model asked for into calls that can be made. What cannot be made (an unknown tool, arguments that do not
 * fit) becomes a result that tells the model what to do instead, never the end of the run.
 */
export function resolveCalls(
  snapshot: AgentSnapshot,
  step: number,
  calls: ModelCall[],
  usedIds: Set<string>,
): ResolvedCall[] {
  return calls.map((call) => {
    const id = uniqueId(call.id, step, usedIds);
    const tool = snapshot.tools.find((candidate) => candidate.name === call.name);
    const problem = problemOf(snapshot, tool, call);
    const args = problem?.code === 'arguments_too_large' ? {} : call.arguments;
    if (problem || !tool)
      return {
        id,
        tool: call.name.slice(0, 200),
        args,
        effect: 'once',
        ...(problem ? { error: problem } : {}),
      };
    return {
      id,
      tool: tool.name,
      args,
      effect: tool.effect,
      ...(tool.waitsFor ? { waitsFor: tool.waitsFor, deadlineMs: tool.deadlineMs } : {}),
    };
  });
}

function problemOf(
  snapshot: AgentSnapshot,
  tool: SnapshotTool | undefined,
  call: ModelCall,
): { code: string; message: string } | null {
  if (!tool) {
    const names = snapshot.tools.map((candidate) => candidate.name);
    return {
      code: 'unknown_tool',
      message: `There is no tool \`${call.name.slice(0, 100)}\`. ${names.length ? `There are: ${names.join(', ')}.` : 'This agent has no tools.'}`,
    };
  }
  if (call.invalid !== undefined) {
    return {
      code: 'invalid_arguments',
      message: `The arguments of \`${tool.name}\` are not JSON. Call it again with a JSON object.`,
    };
  }
  const size = jsonSize(call.arguments);
  if (size.bytes > snapshot.limits.messageBytes || size.depth > DEEPEST) {
    return {
      code: 'arguments_too_large',
      message: `The arguments of \`${tool.name}\` take ${size.bytes} bytes and nest ${size.depth} deep; at most ${snapshot.limits.messageBytes} and ${DEEPEST} are taken.`,
    };
  }
  try {
    const problem = argumentProblem(tool.inputSchema, call.arguments);
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

/** Some providers number their calls anew in every answer; within a run the id is the key of the effect. */
function uniqueId(given: string, step: number, used: Set<string>): string {
  const base = (given || 'call').slice(0, 160);
  let id = base;
  for (let n = 0; used.has(id); n++) id = n === 0 ? `${base}_${step}` : `${base}_${step}_${n}`;
  used.add(id);
  return id;
}

/** How large a value is as JSON. Throws where it is not JSON at all. */
export function jsonSize(value: unknown): { bytes: number; depth: number } {
  if (typeof value === 'string') return { bytes: Buffer.byteLength(value) + 2, depth: 0 };
  const text = JSON.stringify(value);
  if (text === undefined) return { bytes: 4, depth: 0 };
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 92) i++;
      else if (c === 34) inString = false;
    } else if (c === 34) inString = true;
    else if (c === 123 || c === 91) deepest = Math.max(deepest, ++depth);
    else if (c === 125 || c === 93) depth--;
  }
  return { bytes: Buffer.byteLength(text), depth: deepest };
}

export const tooDeep = (depth: number): boolean => depth > DEEPEST;
