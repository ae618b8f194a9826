import { type Json, MOST_PAYLOAD_BYTES } from '@troupe/protocol';
import { newId, notFound, Refusal } from '../../base/index.ts';
import { agentArchived, snapshotFor } from '../../definitions/agents/index.ts';
import type { Kernel } from '../../kernel/index.ts';
import type { Database } from '../../store/index.ts';
import { DEPTH_KEY } from '../shared/index.ts';
import { DOOR, HISTORY } from './door-name.ts';

/** Where the same may be asked for twice, and where it follows from something. */
export interface Begun {
  run: string;
  thread: string;
  /** How many triggers led to it. */
  depth: number;
}

/** A run that a service asks for. It begins in no space. */
export async function triggerAgent(
  { db, kernel }: { db: Database; kernel: Kernel },
  project: string,
  agentId: string,
  { id, serviceName, payload }: { id?: string; serviceName: string; payload: Json },
  begun?: Begun,
): Promise<{ runId: string; agentEntityId: string; status: 'queued' }> {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  if (bytes > MOST_PAYLOAD_BYTES) {
    throw new Refusal(
      'too_large',
      'payload_too_large',
      `The payload has ${bytes} bytes; an agent reads ${MOST_PAYLOAD_BYTES} at most.`,
      { hint: 'Send what matters, and where the rest is to be found.' },
    );
  }
  const current = await snapshotFor(db, { project, agentId, modelIds: [] });
  if (current.status === 'archived') throw agentArchived();
  const started = await kernel.start({
    project,
    thread: begun?.thread ?? newId(),
    createThread: 'run',
    run: {
      id: begun?.run ?? id ?? newId(),
      door: DOOR,
      agent: agentId,
      entity: current.entityId,
      snapshot: current.snapshotId,
      triggerType: 'service',
      trigger: { serviceName, payload },
      wallMs: current.wallMs,
      historyLimit: HISTORY,
      ...(begun ? { metadata: { [DEPTH_KEY]: begun.depth } } : {}),
    },
  });
  if (!started.ok) throw notFound('agent');
  return { runId: started.run!, agentEntityId: current.entityId, status: 'queued' };
}
