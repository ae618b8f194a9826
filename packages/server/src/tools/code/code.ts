import type { Json } from '@troupe/protocol';
import { messageOf, TroupeError } from '../../base/index.ts';
import type { ToolContext } from '../../kernel/ports.ts';
import { hiddenOf, idempotencyKey } from '../http/index.ts';
import type { Provider, SecretValues } from '../ports.ts';
import type { CodeToolContext } from './define.ts';
import type { CodeFunction, CodeFunctions } from './functions.ts';

/** Functions of the user, by the name that the tool's row gives. The row says what a model sees, the function what it takes. */
export function codeTool(functions: CodeFunctions, secrets: SecretValues | undefined): Provider {
  return ({ config }) => {
    const found = typeof config.function === 'string' ? functions.get(config.function) : undefined;
    return found && ((args, context) => call(found, args, context, secrets));
  };
}

async function call(
  { name, read, execute }: CodeFunction,
  args: Json,
  context: ToolContext,
  secrets: SecretValues | undefined,
): Promise<Json> {
  const revealed = new Map<string, string>();
  try {
    const given = await readable(name, () => read(structuredClone(args)));
    const answer = await execute(given, contextOf(context, secrets, revealed));
    return hiddenOf(revealed).json(jsonOf(name, answer));
  } catch (error) {
    // Anew and without its cause, which may hold what was revealed.
    const hidden = hiddenOf(revealed);
    const code = codeOf(error);
    throw new TroupeError(hidden.text(code) === code ? code : 'tool_error', hidden.text(messageOf(error)));
  }
}

async function readable(name: string, read: () => unknown): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    throw new TroupeError(
      'invalid_arguments',
      `The arguments of \`${name}\` do not fit: ${messageOf(error)}. Correct them and call it again.`,
    );
  }
}

function contextOf(
  { projectId, runId, threadId, callId, attempt, signal }: ToolContext,
  secrets: SecretValues | undefined,
  revealed: Map<string, string>,
): CodeToolContext {
  const secret = async (name: string): Promise<string> => {
    const value = (await secrets?.reveal(projectId, name)) ?? null;
    if (value === null)
      throw new TroupeError('secret_missing', `The project has no secret "${name}", which the tool needs.`);
    revealed.set(name, value);
    return value;
  };
  const key = idempotencyKey({ runId, callId });
  return { projectId, runId, threadId, callId, idempotencyKey: key, attempt, signal, secret };
}

function jsonOf(name: string, answer: unknown): Json {
  if (answer === undefined) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(answer);
  } catch (error) {
    throw new TroupeError('bad_output', `\`${name}\` returned what is no JSON: ${messageOf(error)}.`);
  }
  if (text === undefined)
    throw new TroupeError('bad_output', `\`${name}\` returned what is no JSON: a ${typeof answer}.`);
  return JSON.parse(text);
}

/** One that a function gave to its error, such as `not_found`. Those of Node and of libraries are not for models. */
function codeOf(error: unknown): string {
  if (error instanceof TroupeError) return error.code;
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[a-z][a-z0-9_]{0,99}$/.test(code) ? code : 'tool_error';
}
