import type { JsonObject } from '@troupe/protocol';
import { z } from 'zod';
import { isId, Refusal } from '../base/index.ts';
import { answerStoredMessage } from '../doors/sessions/index.ts';
import { requestTaskNotice } from '../doors/tasks/index.ts';
import { doneFor } from '../store/index.ts';
import type { ActParts } from './acts.ts';
import { isSigned } from './sign.ts';

/** The addresses that rules of the source name. */
export const HANDLERS = [
  'orchestrator',
  'agent-init',
  'agent-loop',
  'tool-runner',
  'orchestrator-finalize',
  'orchestrator-notify',
] as const;

export interface OwnAnswer {
  handler: string;
  deliveryId: string;
  documentId: string;
  /** What the kernel made of the document; null: there is no such document any more. */
  found: JsonObject | null;
}

const told = z.looseObject({
  projectId: z.uuid(),
  deliveryId: z.uuid(),
  documentId: z.string().max(200),
  after: z.record(z.string(), z.json()).nullable(),
});

type Handler = (typeof HANDLERS)[number];
type Perform = (parts: ActParts, project: string, documentId: string) => Promise<void>;

/** The run is queued in the transaction that wrote the document; a worker takes it. */
const wakeWorkers: Perform = async ({ kernel }) => kernel.changed({ queued: true, joins: true });

const tell =
  (what: 'question' | 'end'): Perform =>
  (parts, project, task) =>
    requestTaskNotice(parts, project, { task, what });

/** The transition of each handler. Each does nothing if the kernel, or an earlier delivery, has done it. */
const PERFORM: Record<Handler, Perform> = {
  orchestrator: answerStoredMessage,
  'agent-init': wakeWorkers,
  'agent-loop': wakeWorkers,
  'tool-runner': wakeWorkers,
  'orchestrator-finalize': tell('end'),
  'orchestrator-notify': tell('question'),
};

/** Answers a delivery to this server: performs its transition if necessary, and returns the existing state. Idempotent. */
export async function answerOwn(
  { ownKeys, ...parts }: ActParts & { ownKeys(project: string): Buffer[] },
  handler: Handler,
  { headers, body }: { headers: Headers; body: string },
): Promise<OwnAnswer> {
  const read = told.safeParse(jsonOf(body));
  if (!read.success || !isSigned(ownKeys(read.data.projectId), headers, body)) throw unsigned();
  const { projectId, deliveryId, documentId, after } = read.data;
  const key: [string, string?] =
    handler === 'tool-runner' ? [String(after?.runId), String(after?.callId)] : [documentId];
  if (!isId(key[0])) return { handler, deliveryId, documentId, found: null };
  await PERFORM[handler](parts, projectId, documentId);
  const found = await doneFor(parts.db, projectId, handler, key);
  return { handler, deliveryId, documentId, found };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The same whatever is wrong: who cannot sign is told nothing of projects. */
function unsigned(): Refusal {
  return new Refusal('unauthenticated', 'unauthenticated', 'The request has no signature of this server.', {
    hint: 'Only triggers of this server are answered here.',
  });
}
