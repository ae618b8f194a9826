import { notFound, Refusal } from '../base/index.ts';
import { type Current, snapshotFor } from '../definitions/agents/index.ts';
import * as store from '../store/index.ts';
import type { Parts, Who } from './parts.ts';

export interface Retry {
  modelId?: string | undefined;
}

/**
 * Takes a run up again after its last step, with what a new message would run with now: whoever changed the model that failed it
 * wants the other one called. `modelId` is for this run, and stays its choice.
 */
export async function takeUpAgain(
  { db, kernel }: Parts,
  { project, request }: Who & { request?: store.KeyedRequest | undefined },
  run: string,
  modelId: string | undefined,
): Promise<store.Retried> {
  const choice = await store.choiceOf(db, run);
  if (!choice) throw notFound('run');
  if (choice.agentId === null || choice.isToolTask) return kernel.retry(run, request ? { request } : null);
  const current = await currentFor(db, project, { ...choice, agentId: choice.agentId }, modelId);
  return kernel.retry(run, {
    snapshot: current.snapshotId,
    wallMs: current.wallMs,
    ...(modelId === undefined ? {} : { modelId }),
    ...(request ? { request } : {}),
  });
}

/** The one that is named now; what the message named; the session's, the agent's and so on. */
async function currentFor(
  db: store.Database,
  project: string,
  { agentId, modelId, sessionModelId }: store.RunChoice & { agentId: string },
  named: string | undefined,
): Promise<Current> {
  const ask = (...modelIds: (string | null)[]) => snapshotFor(db, { project, agentId, modelIds });
  if (named !== undefined) return ask(named);
  if (modelId === null) return ask(sessionModelId);
  try {
    return await ask(modelId);
  } catch (error) {
    // What the message named is gone or disabled, and a message that is stored cannot name another.
    if (!(error instanceof Refusal) || error.code !== 'model_not_found') throw error;
    return ask(sessionModelId);
  }
}
