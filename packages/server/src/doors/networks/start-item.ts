import type { JsonObject } from '@troupe/protocol';
import { Refusal } from '../../base/index.ts';
import type { NewRun, StartItem } from '../../store/index.ts';
import { DOOR, HISTORY } from './door-name.ts';

/** Encrypts what is secret; what was sealed for one project and name opens for no other. */
export interface Sealer {
  seal(project: string, name: string, value: string): unknown;
}

/** What the system parameters of a run are sealed under. */
export function sealedName(run: string): string {
  return `run ${run}`;
}

export interface RunToStart {
  project: string;
  ids: { run: string; thread: string; message: string };
  /** The version of a network, and the agent that it begins with. */
  of: { id: string; name: string; version: number; snapshotId: string; agent: string; wallMs: number };
  input: string | JsonObject;
  systemParams: JsonObject;
  metadata: JsonObject;
  sender?: string | null;
}

/** A run of a network in a thread of its own. */
export function startItem(
  sealer: Sealer | null,
  { project, ids, of, input, systemParams, metadata, sender }: RunToStart,
): StartItem & { run: NewRun } {
  const { id, name, version, snapshotId, agent, wallMs } = of;
  return {
    project,
    thread: ids.thread,
    createThread: 'run',
    message: {
      id: ids.message,
      role: 'user',
      content: { text: typeof input === 'string' ? input : JSON.stringify(input) },
      ...(sender ? { sender } : {}),
    },
    run: {
      id: ids.run,
      door: DOOR,
      snapshot: snapshotId,
      triggerType: 'network',
      trigger: { network: { id, name, version }, agent, systemParams: Object.keys(systemParams) },
      wallMs,
      historyLimit: HISTORY,
      metadata,
      network: { id, version, sealed: sealed(sealer, project, sealedName(ids.run), systemParams) },
    },
  };
}

/** Null where there is nothing to seal. */
export function sealed(
  sealer: Sealer | null,
  project: string,
  name: string,
  params: JsonObject,
): JsonObject | null {
  if (Object.keys(params).length === 0) return null;
  if (!sealer) {
    throw new Refusal(
      'conflict',
      'no_encryption_key',
      'System parameters cannot be stored: there is no key to encrypt them with.',
      {
        hint: 'Set TROUPE_ENCRYPTION_KEY on every process.',
      },
    );
  }
  return sealer.seal(project, name, JSON.stringify(params)) as JsonObject;
}
