import type { JsonObject } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';

/** A program of a person. */
export interface ClientRow {
  id: string;
  entityId: string;
  clientKey: string;
  clientType: string | null;
  displayName: string | null;
  capabilities: JsonObject;
  online: boolean;
  lastSeenAt: Date;
  createdAt: Date;
  updatedAt: Date;
}
type Found = ClientRow & Record<string, unknown>;

const CLIENT = `c.id, c.entity_id as "entityId", c.client_key as "clientKey", c.client_type as "clientType", c.display_name as "displayName", c.capabilities,
  c.last_seen_at > now() - interval '60 seconds' as online, c.last_seen_at as "lastSeenAt", c.created_at as "createdAt", c.updated_at as "updatedAt"`;
/** $1: the project; $2: the person who asks, or null. */
const WITHIN = 'c.project_id = $1 and ($2::uuid is null or c.entity_id = $2)';

export interface ClientScope {
  project: string;
  entityId: string | null;
}

export interface NewClient {
  entity: string;
  clientKey: string;
  clientType: string | null;
  displayName: string | null;
  capabilities: JsonObject;
  /** Whether it may be taken over from somebody else. */
  mayMove: boolean;
}

/** Null where the key is somebody else's. Fails where the project has no such entity. */
export async function registerClient(
  db: Database,
  project: string,
  client: NewClient,
): Promise<ClientRow | 'entity_not_found' | 'client_key_taken'> {
  const rows = await db.run<Partial<Found> & { known: boolean }>(
    {
      name: 'register_client',
      text: `with person as (select e.id from troupe.entities e where e.project_id = $1 and e.id = $3 and e.type = 'human' for key share),
        c as (insert into troupe.clients as c (id, project_id, entity_id, client_key, client_type, display_name, capabilities)
          select $2, $1, p.id, $4, $5, $6, $7::jsonb from person p
          on conflict (project_id, client_key) do update set entity_id = excluded.entity_id, client_type = excluded.client_type,
            display_name = excluded.display_name, capabilities = excluded.capabilities, last_seen_at = now(), updated_at = now()
            where c.entity_id = excluded.entity_id or $8
          returning *)
        select exists (select from person) as known, ${CLIENT} from (select 1) one left join c on true`,
      values: [
        project,
        newId(),
        client.entity,
        client.clientKey,
        client.clientType,
        client.displayName,
        toJsonText(client.capabilities),
        client.mayMove,
      ],
    },
    db.pool,
  );
  const { known, ...found } = rows[0]!;
  if (!known) return 'entity_not_found';
  return found.id ? (found as ClientRow) : 'client_key_taken';
}

/** The newest first. */
export async function listClients(
  db: Database,
  scope: ClientScope,
  { entityId, before, limit }: { entityId?: string | undefined; before: string | undefined; limit: number },
): Promise<ClientRow[]> {
  return db.run<Found>(
    {
      name: 'list_clients',
      text: `select ${CLIENT} from troupe.clients c where ${WITHIN} and ($3::uuid is null or c.entity_id = $3) and ($4::uuid is null or c.id < $4)
        order by c.id desc limit $5`,
      values: [scope.project, scope.entityId, entityId ?? null, before ?? null, limit],
    },
    db.pool,
  );
}

export async function touchClient(db: Database, scope: ClientScope, id: string): Promise<ClientRow | null> {
  const rows = await db.run<Found>(
    {
      name: 'touch_client',
      text: `update troupe.clients c set last_seen_at = now() where ${WITHIN} and c.id = $3 returning ${CLIENT}`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export async function deleteClient(db: Database, scope: ClientScope, id: string): Promise<boolean> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'delete_client',
      text: `delete from troupe.clients c where ${WITHIN} and c.id = $3 returning c.id`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  return rows.length > 0;
}
