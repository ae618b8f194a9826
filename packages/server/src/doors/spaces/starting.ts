import { snapshotFor } from '../../agents/index.ts';
import { Refusal } from '../../base/index.ts';
import * as store from '../../store/index.ts';

/**
 * What the agents of a space run with if a message starts them now. One whose model is gone or disabled is started all the same,
 * with what its version was compiled to: its run then fails in words, and can be taken up again, which a message that was never
 * heard cannot.
 */
export async function startingAgents(
  db: store.Database,
  asked: { project: string; space: string; except: string },
): Promise<store.StartingAgent[]> {
  const agents = await store.agentsOfSpace(db, asked);
  return Promise.all(
    agents.map(async ({ agentId, ...standing }) => {
      const { snapshotId, wallMs } = await snapshotFor(db, {
        project: asked.project,
        agentId,
        modelIds: [],
        standing,
      }).catch(async (error) => {
        const version =
          error instanceof Refusal && (await store.snapshotOfVersion(db, agentId, standing.version));
        if (!version) throw error;
        return version;
      });
      return { entity: standing.entityId, agent: agentId, snapshot: snapshotId, wallMs };
    }),
  );
}
