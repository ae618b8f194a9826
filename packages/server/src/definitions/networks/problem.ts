import type { JsonObject, NetworkProblem } from '@troupe/protocol';
import { argumentProblem, messageOf } from '../../base/index.ts';

export function problem(path: string, code: string, message: string): NetworkProblem {
  return { path, code, message };
}

/** Why a value does not fit a schema, or null; a schema that cannot be used in time is a reason as well. */
export function misfit(schema: JsonObject, value: unknown, what: string): string | null {
  try {
    return argumentProblem(schema, value, what);
  } catch (error) {
    return messageOf(error);
  }
}
