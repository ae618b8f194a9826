import { NOBODY_NAMED } from '@troupe/protocol';
import { newId, Refusal } from '../../base/index.ts';
import { agentArchived } from '../../definitions/agents/index.ts';
import { getRun, getRunToCopy, type Parts, type Who } from '../../runs/index.ts';
import * as store from '../../store/index.ts';
import { getSession } from './actions.ts';
import { RUN_KEY } from './turns.ts';

const ENDED: readonly string[] = ['completed', 'failed', 'canceled'];

/** A session that begins where a run ended. */
export async function continueRun(
  parts: Pick<Parts, 'db'>,
  who: Who,
  id: string,
  { id: session = newId(), title, user }: { id?: string; title: string | null; user?: string | undefined },
  author: store.Author,
): Promise<store.SessionRow> {
  const { db } = parts;
  const run = await getRunToCopy(parts, who, id);
  requireEnded(run);
  if (run.agentId === null) {
    throw new Refusal(
      'conflict',
      'run_without_agent',
      'The run is of no agent that a session could be with.',
    );
  }
  const owner = user === undefined ? await store.ownerOfRun(db, run.id) : null;
  const entity = owner ?? (await store.ensureEntity(db.rows, who.project, user ?? NOBODY_NAMED)).id;
  const ids = { id: session, thread: newId() };
  if (!(await store.continueRun(db, run.id, { ...ids, title, entity, runKey: RUN_KEY }, author))) {
    // Taken up again meanwhile, or it is the agent.
    requireEnded(await getRun(parts, who, id));
    throw agentArchived();
  }
  return getSession(parts, who, { agentId: run.agentId, sessionId: ids.id });
}

function requireEnded({ status }: store.RunRecord): void {
  if (ENDED.includes(status)) return;
  throw new Refusal('conflict', 'run_at_work', `The run has not ended: it is ${status}.`, {
    hint: 'Wait until it has ended, or cancel it.',
  });
}
