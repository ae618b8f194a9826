import { idFrom } from '../../base/index.ts';
import { snapshotFor } from '../../definitions/agents/index.ts';
import type { Parts } from '../../runs/index.ts';
import * as store from '../../store/index.ts';
import { MAX_HISTORY } from '../shared/index.ts';
import { sessionsDoor } from './door.ts';

/**
 * Starts the run that answers a stored message of a session, unless the message has a run or is not the last one. The id of the run
 * is derived from the message, so the call is idempotent.
 */
export async function answerStoredMessage(
  { db, kernel }: Parts,
  project: string,
  messageId: string,
): Promise<void> {
  const found = await store.unansweredMessage(db, project, messageId);
  if (!found) return;
  const { threadId: thread, agentId, modelId, ...message } = found;
  const current = await snapshotFor(db, { project, agentId, modelIds: [modelId] });
  if (current.status === 'archived') return;
  await kernel.start({
    project,
    thread,
    unlessFailed: true,
    message: { ...message, role: 'user' },
    run: {
      id: idFrom(`${messageId}:run`, messageId),
      door: sessionsDoor.name,
      agent: agentId,
      entity: current.entityId,
      snapshot: current.snapshotId,
      triggerType: 'message',
      serial: true,
      wallMs: current.wallMs,
      historyLimit: MAX_HISTORY,
    },
  });
}
