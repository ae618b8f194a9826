import type { JsonObject } from '@troupe/protocol';
import { z } from 'zod';
import { isId, Refusal } from '../base/index.ts';
import { type Database, doneFor } from '../store/index.ts';
import { isSigned } from './sign.ts';

/** The addresses that rules of the source name. What they would have done, the kernel has done in the commit that they are told of. */
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

/** Answers a delivery to ourselves: looks, and changes nothing, so that it may come as often as it likes. */
export async function answerOwn(
  { db, ownKeys }: { db: Database; ownKeys(project: string): Buffer[] },
  handler: string,
  { headers, body }: { headers: Headers; body: string },
): Promise<OwnAnswer> {
  const read = told.safeParse(jsonOf(body));
  if (!read.success || !isSigned(ownKeys(read.data.projectId), headers, body)) throw unsigned();
  const { projectId, deliveryId, documentId, after } = read.data;
  const key: [string, string?] =
    handler === 'tool-runner' ? [String(after?.runId), String(after?.callId)] : [documentId];
  const found = isId(key[0]) ? await doneFor(db, projectId, handler, key) : null;
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
