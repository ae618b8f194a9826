import type { JsonObject } from '@troupe/protocol';
import { z } from 'zod';
import { type ListQuery, type Page, readPage } from '../base/index.ts';
import { type AuditRow, addAuditEntry, type Database, listAuditEntries, type Rows } from '../store/index.ts';
import type { Caller } from './caller.ts';

/** Troupe itself, at its start. */
export interface System {
  project: string;
  kind: 'system';
}

/**
 * Writes down who changed what; `on` is the transaction of the change. What it tells is kept for good and can be read by
 * every administrator: never put a key, a secret or the content of a message in `data`.
 */
export async function audit(
  on: Rows,
  caller: Caller | System,
  action: string,
  target: string | null,
  data: JsonObject = {},
): Promise<void> {
  const actorId = caller.kind === 'key' ? caller.keyId : caller.kind === 'user' ? caller.entityId : null;
  await addAuditEntry(on, {
    project: caller.project,
    actorKind: caller.kind,
    actorId,
    action,
    target,
    data,
    request: caller.kind === 'system' ? undefined : caller.request,
  });
}

export interface AuditQuery extends ListQuery {
  action?: string | undefined;
}

export async function listAudit(
  db: Database,
  { project }: Caller,
  { action, ...query }: AuditQuery,
): Promise<Page<AuditRow>> {
  return readPage(query, {
    position: z.int().positive(),
    read: (before, limit) => listAuditEntries(db.rows, project, { limit, before, action }),
    positionOf: ({ id }) => id,
  });
}
