import type { Invocation } from '@troupe/protocol';
import { newId, notFound, Refusal } from '../../base/index.ts';
import type { Kernel } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { type Sealer, startItem } from './start-item.ts';
import { refuseUnknownSystemParams } from './system-params.ts';

export interface Parts {
  db: store.Database;
  kernel: Kernel;
  /** Null: the process has no key to encrypt with. */
  sealer: Sealer | null;
}

/** Starts a run of a network, bound to the version that it starts with whatever is published later. */
export async function invokeNetwork(
  parts: Parts,
  project: string,
  ref: string,
  { id, mode, timeoutMs, ...asked }: Invocation & { id?: string },
): Promise<store.NetworkRunRecord> {
  const run = id ?? newId();
  await start(parts, project, ref, { ...asked, run });
  return invokedRun(parts, project, { id: run, mode, timeoutMs });
}

/** As it is, or at its end: whatever became of the network since it was started. */
export async function invokedRun(
  { db, kernel }: Omit<Parts, 'sealer'>,
  project: string,
  { id: run, mode, timeoutMs }: Pick<Invocation, 'mode' | 'timeoutMs'> & { id: string },
): Promise<store.NetworkRunRecord> {
  await getNetworkRun(db, project, run);
  if (mode === 'wait') await endOf(kernel, run, timeoutMs);
  return getNetworkRun(db, project, run);
}

async function start(
  parts: Parts,
  project: string,
  ref: string,
  asked: Omit<Invocation, 'mode' | 'timeoutMs'> & { run: string },
): Promise<void> {
  const { db, kernel } = parts;
  const { run, input, version, agent, systemParams, user, metadata } = asked;
  const found = await networkToRun(db, project, ref, { version, agent });
  refuseArchived(found);
  await refuseUnknownSystemParams(db, found, systemParams);
  const sender = user === undefined ? null : (await store.ensureEntity(db.rows, project, user)).id;
  const started = await kernel.start(
    startItem(parts.sealer, {
      project,
      ids: { run, thread: newId(), message: newId() },
      of: found,
      input,
      systemParams,
      metadata,
      sender,
    }),
  );
  if (!started.ok) throw new Error(`a run of a network was not started: ${started.code}`);
}

export function refuseArchived({ status }: Pick<Runnable, 'status'>): void {
  if (status !== 'archived') return;
  throw new Refusal('conflict', 'network_archived', 'The network is archived: it takes no new runs.', {
    hint: 'Take it out of the archive, or run another one.',
  });
}

/** As it is then, where it takes longer. */
async function endOf(kernel: Kernel, run: string, timeoutMs: number): Promise<void> {
  try {
    await kernel.ended(run, { timeoutMs });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'run_not_ended') throw error;
  }
}

export async function getNetworkRun(
  db: store.Database,
  project: string,
  run: string,
): Promise<store.NetworkRunRecord> {
  const found = await store.findNetworkRun(db, project, run);
  if (!found) throw notFound('run');
  return found;
}

/** Of this network; where that is gone, its id still leads to its runs. `waitMs`: once it has ended, or so late as it is then. */
export async function waitForNetworkRun(
  { db, kernel }: Omit<Parts, 'sealer'>,
  project: string,
  ref: string,
  { run, waitMs }: { run: string; waitMs: number },
): Promise<store.NetworkRunRecord> {
  const network = await store.findNetworkToRun(db, project, ref);
  const found = await getNetworkRun(db, project, run);
  if (found.network.id !== (network?.id ?? ref.toLowerCase())) throw notFound('run');
  if (waitMs === 0) return found;
  await endOf(kernel, run, waitMs);
  return getNetworkRun(db, project, run);
}

export async function listNetworkRuns(
  { db }: Pick<Parts, 'db'>,
  project: string,
  ref: string,
  asked: { before?: string | undefined; limit: number },
): Promise<store.NetworkRunRecord[]> {
  const network = await store.findNetworkToRun(db, project, ref);
  if (!network) throw notFound('network');
  return store.listNetworkRuns(db, project, network.id, asked);
}

export type Runnable = store.NetworkToRun & { version: number; snapshotId: string; agent: string };

/** The version that is asked for and where it begins; what is not there is refused. */
export async function networkToRun(
  db: store.Database,
  project: string,
  ref: string,
  { version, agent }: { version?: number | undefined; agent?: string | undefined },
): Promise<Runnable> {
  const found = await store.findNetworkToRun(db, project, ref, {
    version: version ?? null,
    agent: agent ?? null,
  });
  if (!found) throw notFound('network');
  if (found.snapshotId === null || found.version === null) {
    if (version !== undefined)
      throw new Refusal('not_found', 'version_not_found', `The network has no version ${version}.`, {
        hint: 'GET /v1/networks/{network}/versions lists those that there are.',
      });
    throw new Refusal('conflict', 'network_not_published', 'The network was never published.', {
      hint: 'POST /v1/networks/{network}/publish makes the first version.',
    });
  }
  if (found.agent === null) throw unknownAgent(agent);
  return found as Runnable;
}

/** Undefined: none was named, and there is no default. */
export function unknownAgent(agent: string | undefined): Refusal {
  const what =
    agent === undefined ? 'The network has no default agent.' : `The network has no agent "${agent}".`;
  return new Refusal('invalid', 'unknown_key', what, {
    hint: 'Name an agent of this version of the network.',
    issues: [{ path: 'agent', message: 'is no agent of the network' }],
  });
}
