import { agentSnapshot } from '@troupe/protocol';
import { notFound } from '../base/index.ts';
import { type Database, findCurrentAgent, saveSnapshot } from '../store/index.ts';

export interface CurrentSnapshot {
  snapshotId: string;
  entityId: string;
  name: string;
  version: number;
  status: 'active' | 'archived';
  historyMessages: number;
  wallMs: number;
}

const MOST = 500;
const saved = new Map<string, string>();

/** What a run of the agent executes now. */
export async function snapshotFor(
  db: Database,
  { project, agentId }: { project: string; agentId: string; modelIds: (string | null | undefined)[] },
): Promise<CurrentSnapshot> {
  const agent = await findCurrentAgent(db, project, agentId);
  if (!agent) throw notFound('agent');
  const { name, prompt, version, status, entityId } = agent;
  const snapshot = agentSnapshot.parse({
    kind: 'agent',
    name,
    prompt,
    models: [{ provider: 'demo', model: 'demo' }],
  });
  const key = JSON.stringify([project, snapshot]);
  const snapshotId = saved.get(key) ?? (await saveSnapshot(db, project, snapshot));
  if (saved.size >= MOST) saved.clear();
  saved.set(key, snapshotId);
  const { historyMessages, wallMs } = snapshot.limits;
  return { snapshotId, entityId, name, version, status, historyMessages, wallMs };
}
