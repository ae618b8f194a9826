import {
  type Json,
  type JsonObject,
  type SnapshotParam,
  type SnapshotTool,
  snapshotParam,
} from '@troupe/protocol';
import { messageOf, TroupeError } from '../base/index.ts';
import type { ToolExecute } from '../kernel/ports.ts';
import { hiddenOf } from './http/index.ts';
import type { SystemParams } from './ports.ts';
import { hideShort, SHORTEST, type ShortValue } from './short-values.ts';

// Tools of networks say who gives which parameter. What agents did not give joins the call here, where it is executed, and nowhere
// before: neither the ledger nor a transcript ever has it. It is hidden in all that comes back.

export function withGiven(
  { name, config }: Pick<SnapshotTool, 'name' | 'config'>,
  execute: ToolExecute,
  systemParams: SystemParams | undefined,
): ToolExecute {
  if (!Array.isArray(config.params)) return execute;
  const params = config.params.map((param) => snapshotParam.parse(param));
  const needsSystem = params.some(({ source }) => source === 'system');
  if (needsSystem && !systemParams)
    throw new TroupeError('tool_unavailable', `\`${name}\` cannot be executed here.`);
  return async (args, context) => {
    // Also where it is given none of them: what another tool wrote somewhere may come back by this one.
    const system = (await systemParams?.open(context.projectId, context.runId)) ?? {};
    const { texts, shorts } = secretValues(params, system);
    const hidden = hiddenOf(texts);
    const short = hideShort(shorts);
    const hide = (value: Json) => hidden.json(short(value));
    const { onRequest } = context;
    try {
      const answer = await execute(merged(name, params, args, system), {
        ...context,
        hides: texts,
        ...(onRequest ? { onRequest: (sent) => onRequest(hide(sent as Json) as typeof sent) } : {}),
      });
      return typeof answer === 'object' && answer !== null && isHandedOver(answer)
        ? answer
        : hide(answer as Json);
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      // Anew and without its cause, which may have been made from what was given.
      const code = error instanceof TroupeError ? error.code : 'tool_error';
      throw new TroupeError(hidden.text(code) === code ? code : 'tool_error', hidden.text(messageOf(error)));
    }
  };
}

/** The agent's, then the system's, then defaults. A `default` is always what it is. */
function merged(name: string, params: SnapshotParam[], args: Json, system: JsonObject): JsonObject {
  const given: JsonObject = { ...(args as JsonObject) };
  for (const param of params) {
    if (param.source === 'default') delete given[param.name];
    if (param.source === 'system') {
      delete given[param.name];
      if (Object.hasOwn(system, param.name)) given[param.name] = system[param.name]!;
    }
    if (!Object.hasOwn(given, param.name) && param.defaultValue !== undefined)
      given[param.name] = param.defaultValue;
    if (param.source === 'system' && param.required && !Object.hasOwn(given, param.name)) {
      throw new TroupeError(
        'missing_system_param',
        `The tool "${name}" needs the system parameter "${param.name}", which the run was not given. Give it in \`systemParams\` of the invocation.`,
      );
    }
  }
  return given;
}

/**
 * All values within what the system gives, under the parameter's name, that are looked for everywhere; and the short ones of this tool, since
 * elsewhere these are words like any other.
 */
function secretValues(params: SnapshotParam[], system: JsonObject) {
  // Different ways may have the same label: `a.b` is a key as well.
  const texts: [label: string, value: string][] = [];
  const shorts: ShortValue[] = [];
  const note = (label: string, key: string, value: Json): void => {
    if (value === null || value === '') return;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) note(`${label}.${index}`, key, item);
    } else if (typeof value === 'object') {
      for (const [name, item] of Object.entries(value)) note(`${label}.${name}`, name, item);
    } else if (typeof value === 'boolean' || String(value).length < SHORTEST) {
      shorts.push({ label, key, value });
    } else texts.push([label, String(value)]);
  };
  for (const [name, value] of Object.entries(system)) note(name, name, value);
  const own = new Set(params.flatMap(({ name, source }) => (source === 'system' ? [name] : [])));
  return { texts, shorts: shorts.filter(({ label }) => own.has(label.split('.', 1)[0]!)) };
}

/** Somebody else settles the call; there is nothing to hide. */
function isHandedOver(answer: object): boolean {
  return Object.getOwnPropertySymbols(answer).length > 0;
}
