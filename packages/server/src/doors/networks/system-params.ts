import type { JsonObject } from '@troupe/protocol';
import { Refusal } from '../../base/index.ts';
import * as store from '../../store/index.ts';

// A name that no tool takes is a typo: told at once, and not in the middle of a run as a parameter that is missing.

/** So many are named in a sentence, and told of as issues. */
const MOST_NAMES = 20;
/** A bad row keeps its sentence, and there may be a hundred thousand. */
const MOST_NAMES_OF_ROW = 5;

/** The system parameters that tools of a version take. */
export interface SystemNames {
  /** Null: what is being edited. */
  version: number | null;
  names: ReadonlySet<string>;
}

export async function systemNamesOf(
  db: store.Database,
  { version, snapshotId }: { version: number; snapshotId: string },
): Promise<SystemNames> {
  return { version, names: new Set(await store.systemParamNames(db, snapshotId)) };
}

/** Nothing is looked up where nothing is given. */
export async function refuseUnknownSystemParams(
  db: store.Database,
  of: { version: number; snapshotId: string },
  given: JsonObject,
): Promise<void> {
  if (Object.keys(given).length > 0) refuseUnknown(await systemNamesOf(db, of), given);
}

export function refuseUnknown(known: SystemNames, given: JsonObject): void {
  const unknown = unknownIn(known, given);
  if (unknown.length === 0) return;
  throw new Refusal('invalid', 'unknown_system_param', sentence(known, unknown[0]!, MOST_NAMES), {
    hint: 'Names are the same only in the same case. GET /v1/networks/{network}/versions/{version} shows the tools with their `params`.',
    issues: unknown
      .slice(0, MOST_NAMES)
      .map((name) => ({ path: `systemParams.${name}`, message: 'is taken by no tool' })),
  });
}

/** What is wrong with the system parameters of a row; null where nothing is. */
export function problemOfRow(known: SystemNames, given: JsonObject): string | null {
  const [unknown] = unknownIn(known, given);
  return unknown === undefined ? null : sentence(known, unknown, MOST_NAMES_OF_ROW);
}

function unknownIn({ names }: SystemNames, given: JsonObject): string[] {
  return Object.keys(given).filter((name) => !names.has(name));
}

function sentence({ version, names }: SystemNames, unknown: string, most: number): string {
  const shown = [...names].slice(0, most).map((name) => `"${name}"`);
  const taken = shown.length === 0 ? 'none' : `${shown.join(', ')}${names.size > most ? ' and more' : ''}`;
  const where = version === null ? 'what is being edited' : `version ${version}`;
  return `No tool of ${where} takes the system parameter "${unknown}". System parameters that its tools take: ${taken}.`;
}
