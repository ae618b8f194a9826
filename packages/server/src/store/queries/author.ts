import type { JsonObject } from '@troupe/protocol';
import type { Transaction } from '../transaction.ts';
import { addAuditEntry } from './audit.ts';
import type { KeyedRequest } from './idempotency.ts';

/** Who changes something in a project, as the audit log names them. */
export interface Author {
  project: string;
  kind: 'key' | 'user' | 'dev' | 'system';
  id: string | null;
  /** The request that asks for the change, if it carries an Idempotency-Key. */
  request?: KeyedRequest | undefined;
}

/** Notes a change in the transaction that makes it: neither is there without the other. */
export async function noteChange(
  transaction: Transaction,
  author: Author,
  { action, target, data = {} }: { action: string; target: string; data?: JsonObject },
): Promise<void> {
  const { project, kind: actorKind, id: actorId, request } = author;
  await addAuditEntry(transaction, { project, actorKind, actorId, action, target, data, request });
}
