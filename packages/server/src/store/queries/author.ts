import type { JsonObject } from '@troupe/protocol';
import { toJsonText } from '../json.ts';
import type { Transaction } from '../transaction.ts';

/** Who changes something in a project, as the audit log names them. */
export interface Author {
  project: string;
  kind: 'key' | 'user' | 'dev' | 'system';
  id: string | null;
}

/** Notes a change in the transaction that makes it: neither is there without the other. */
export async function noteChange(
  transaction: Transaction,
  author: Author,
  change: { action: string; target: string; data?: JsonObject },
): Promise<void> {
  await transaction
    .insertInto('audit_log')
    .values({
      project_id: author.project,
      actor_kind: author.kind,
      actor_id: author.id,
      action: change.action,
      target: change.target,
      data: toJsonText(change.data ?? {}),
    })
    .execute();
}
