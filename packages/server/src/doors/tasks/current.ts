import { Refusal } from '../../base/index.ts';
import { type Current, snapshotAnyway, snapshotFor } from '../../definitions/agents/index.ts';
import type { Database, RetryWith, ToldAgent } from '../../store/index.ts';
import { MAX_HISTORY } from '../shared/index.ts';

/**
 * What an agent runs with that is told of a task: what a message to it would run with now. Nobody is there to be refused: where its model is
 * gone, the run begins all the same and fails with that for a reason.
 */
export function currentOf(db: Database): (told: ToldAgent) => Promise<RetryWith> {
  return async (told) => {
    const { snapshotId: snapshot, wallMs } = await currentFor(db, told);
    return { snapshot, wallMs, historyLimit: MAX_HISTORY };
  };
}

async function currentFor(db: Database, { project, agentId, modelId }: ToldAgent): Promise<Current> {
  try {
    return await snapshotFor(db, { project, agentId, modelIds: [modelId] });
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'model_not_found')) throw error;
    return snapshotAnyway(db, project, agentId);
  }
}
