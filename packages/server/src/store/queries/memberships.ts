import type { EntityType, MemberRole, Ordering } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { answerOf, type MemberWrite, type SpaceScope } from './spaces.ts';

export interface MembershipRow {
  spaceId: string;
  entityId: string;
  type: EntityType;
  name: string | null;
  agentId: string | null;
  role: MemberRole;
  ordering: Ordering;
  lastSeenMessageId: string | null;
  lastProcessedMessageId: string | null;
  joinedAt: Date;
  /** When it joined, in microseconds: where a page ends. */
  place: string;
}

const MICROSECONDS = `(extract(epoch from m.joined_at) * 1000000)::bigint`;

/** In the order in which they joined. `after`: where the page before ended. */
export async function listMembers(
  db: Database,
  space: string,
  {
    type,
    entity,
    after,
    limit,
  }: {
    type?: EntityType | undefined;
    entity?: string | undefined;
    after?: { place: string; entityId: string } | undefined;
    limit: number;
  },
): Promise<MembershipRow[]> {
  const { place, entityId: last } = after ?? { place: null, entityId: null };
  return db.run<MembershipRow & Record<string, unknown>>(
    {
      name: 'list_members',
      text: `select m.space_id as "spaceId", m.entity_id as "entityId", e.type, coalesce(e.display_name, e.external_id) as name, e.agent_id as "agentId",
          m.role, m.ordering, m.last_seen_message_id as "lastSeenMessageId", m.last_processed_message_id as "lastProcessedMessageId",
          m.joined_at as "joinedAt", ${MICROSECONDS}::text as place
        from troupe.memberships m join troupe.entities e on e.id = m.entity_id
        where m.space_id = $1 and ($2::text is null or e.type = $2) and ($3::uuid is null or m.entity_id = $3)
          and ($4::bigint is null or (${MICROSECONDS}, m.entity_id) > ($4::bigint, $5::uuid))
        order by ${MICROSECONDS}, m.entity_id limit $6`,
      values: [space, type ?? null, entity ?? null, place, last, limit],
    },
    db.pool,
  );
}

/** Null where it is no member of the space, or the space is not of the project. */
export async function findMember(
  db: Database,
  project: string,
  space: string,
  entity: string,
): Promise<{ entityId: string; type: EntityType; name: string | null; role: MemberRole } | null> {
  const rows = await db.run<{ entityId: string; type: EntityType; name: string | null; role: MemberRole }>(
    {
      name: 'find_member',
      text: `select m.entity_id as "entityId", e.type, coalesce(e.display_name, e.external_id) as name, m.role
        from troupe.memberships m join troupe.spaces s on s.id = m.space_id join troupe.entities e on e.id = m.entity_id
        where s.project_id = $1 and m.space_id = $2 and m.entity_id = $3`,
      values: [project, space, entity],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export type MemberAdded =
  | { ok: true; entity: string }
  | { ok: false; code: 'space_not_found' | 'not_an_admin' | 'entity_not_found' | 'agent_not_found' };

export async function addMember(
  db: Database,
  { project, entityId }: SpaceScope,
  space: string,
  member: MemberWrite,
): Promise<MemberAdded> {
  const values = [project, space, entityId, JSON.stringify(member)];
  return answerOf(db, 'add_member', 'troupe.add_member($1, $2, $3, $4::jsonb)', values);
}

/** `resumed`: waits for a reply that ended with it. */
export type MemberRemoved =
  | { ok: true; resumed: number }
  | { ok: false; code: 'space_not_found' | 'not_an_admin' | 'not_a_member' };

export async function removeMember(
  db: Database,
  { project, entityId }: SpaceScope,
  space: string,
  member: string,
): Promise<MemberRemoved> {
  const values = [project, space, entityId, member];
  return answerOf(db, 'remove_member', 'troupe.remove_member($1, $2, $3, $4)', values);
}

export type MarkedRead =
  | { ok: true; moved: boolean; lastSeenMessageId: string; unread: number }
  | { ok: false; code: 'space_not_found' | 'not_a_member' | 'not_a_person' | 'message_not_found' };

export async function markRead(
  db: Database,
  project: string,
  { space, entity, message }: { space: string; entity: string; message: string },
): Promise<MarkedRead> {
  const values = [project, space, entity, message];
  return answerOf(db, 'mark_read', 'troupe.mark_read($1, $2, $3, $4)', values);
}
