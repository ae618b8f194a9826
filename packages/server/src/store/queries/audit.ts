import type { JsonObject } from '@troupe/protocol';
import type { Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import { type KeyedRequest, recordEffect } from './idempotency.ts';

export interface NewAuditEntry {
  project: string;
  actorKind: 'key' | 'user' | 'dev' | 'system';
  actorId: string | null;
  action: string;
  target: string | null;
  data: JsonObject;
  /** The request that asks for the change, if it carries an Idempotency-Key. */
  request?: KeyedRequest | undefined;
}

/** In the transaction of the change, together with the key of the request: none is there without the others. */
export async function addAuditEntry(on: Rows, entry: NewAuditEntry): Promise<void> {
  await on
    .insertInto('audit_log')
    .values({
      project_id: entry.project,
      actor_kind: entry.actorKind,
      actor_id: entry.actorId,
      action: entry.action,
      target: entry.target,
      data: toJsonText(entry.data),
    })
    .execute();
  if (!entry.request) return;
  const { version, count } = entry.data;
  await recordEffect(on, entry.request, {
    target: entry.target,
    ...(typeof version === 'number' ? { version } : {}),
    ...(typeof count === 'number' ? { count } : {}),
  });
}

/** Newest first; `before` is the last id of the page before. */
export function listAuditEntries(
  on: Rows,
  project: string,
  { limit, before, action }: { limit: number; before?: number | undefined; action?: string | undefined },
) {
  return on
    .selectFrom('audit_log')
    .select(['id', 'actor_kind', 'actor_id', 'action', 'target', 'data', 'created_at'])
    .where('project_id', '=', project)
    .$if(before !== undefined, (query) => query.where('id', '<', before!))
    .$if(action !== undefined, (query) => query.where(sql<boolean>`starts_with(action, ${action!})`))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

export type AuditRow = Awaited<ReturnType<typeof listAuditEntries>>[number];
