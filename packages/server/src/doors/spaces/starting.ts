import { snapshotAnyway } from '../../definitions/agents/index.ts';
import * as store from '../../store/index.ts';

/**
 * What the agents of a space run with if a message starts them now. One whose model is gone or disabled is started all the same:
 * its run then fails in words, and can be taken up again, which a message that was never heard cannot.
 */
export async function startingAgents(
  db: store.Database,
  asked: { project: string; space: string; except: string },
): Promise<store.StartingAgent[]> {
  const agents = await store.agentsOfSpace(db, asked);
  return Promise.all(
    agents.map(async ({ agentId, ...standing }) => {
      const { snapshotId, wallMs } = await snapshotAnyway(db, asked.project, agentId, standing);
      return { entity: standing.entityId, agent: agentId, snapshot: snapshotId, wallMs };
    }),
  );
}
