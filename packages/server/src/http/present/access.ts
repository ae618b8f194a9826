import type {
  ApiKey,
  AuditEntry,
  Client,
  Entity,
  Erasure,
  JsonObject,
  OutgoingRules,
  Project,
  Scope,
  Secret,
  TokenRules,
} from '@troupe/protocol';
import type {
  AuditRow,
  ClientRow,
  EntityRow,
  ErasureRow,
  KeyRow,
  ProjectRow,
  SecretRow,
} from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentProject(row: ProjectRow): Project {
  return isoTimes({
    id: row.id,
    name: row.name,
    tokens: row.tokens as TokenRules | null,
    defaultModelId: row.default_model_id,
    compactionModelId: row.compaction_model_id,
    outgoing: row.outgoing as OutgoingRules,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  });
}

export function presentKey(row: KeyRow): ApiKey {
  return isoTimes({
    id: row.id,
    name: row.name,
    kind: row.kind,
    prefix: row.prefix,
    scopes: row.scopes as Scope[],
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    createdAt: row.created_at,
  });
}

export function presentSecret({ name, created_at, updated_at }: SecretRow): Secret {
  return isoTimes({ name, createdAt: created_at, updatedAt: updated_at });
}

export function presentAuditEntry(row: AuditRow): AuditEntry {
  return isoTimes({
    id: String(row.id),
    actor: { kind: row.actor_kind, id: row.actor_id },
    action: row.action,
    target: row.target,
    data: row.data as JsonObject,
    createdAt: row.created_at,
  });
}

export function presentErasure({ projectId: _, ...row }: ErasureRow): Erasure {
  return isoTimes({ ...row, status: row.finishedAt === null ? ('running' as const) : ('done' as const) });
}

export function presentClient(row: ClientRow): Client {
  return isoTimes(row);
}

export function presentEntity(row: EntityRow): Entity {
  return isoTimes(row);
}
