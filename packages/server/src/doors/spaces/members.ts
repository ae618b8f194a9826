import type { EntityType, NewMember } from '@troupe/protocol';
import { notFound } from '../../base/index.ts';
import { patiently } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts, Who } from './parts.ts';
import { getSpace, noSuchMember, refusalOf } from './spaces.ts';

export interface MembersAsked {
  type?: EntityType | undefined;
  after?: { place: string; entityId: string } | undefined;
  limit: number;
}

export async function listMembers(
  parts: Pick<Parts, 'db'>,
  who: Who,
  spaceId: string,
  asked: MembersAsked,
): Promise<store.MembershipRow[]> {
  const { id } = await getSpace(parts, who, spaceId);
  return store.listMembers(parts.db, id, asked);
}

/** Who is a member already gets the role and the ordering that are given. */
export async function addMember(
  { db, kernel }: Parts,
  who: Who,
  spaceId: string,
  member: NewMember,
): Promise<store.MembershipRow> {
  const added = await patiently(() => store.addMember(db, who, spaceId, member));
  if (!added.ok) {
    throw added.code === 'entity_not_found' || added.code === 'agent_not_found'
      ? noSuchMember(added.code)
      : refusalOf(added.code);
  }
  kernel.touched(spaceId.toLowerCase());
  const [membership] = await store.listMembers(db, spaceId, { entity: added.entity, limit: 1 });
  // Removed again since.
  if (!membership) throw notFound('member');
  return membership;
}

export async function removeMember(
  { db, kernel }: Parts,
  who: Who,
  spaceId: string,
  entityId: string,
): Promise<void> {
  const removed = await patiently(() => store.removeMember(db, who, spaceId, entityId));
  if (!removed.ok) throw removed.code === 'not_a_member' ? notFound('member') : refusalOf(removed.code);
  kernel.touched(spaceId.toLowerCase());
  // Runs that waited for who is gone, or were theirs, go on.
  if (removed.resumed > 0) kernel.changed({ queued: true });
}

/** Throws where a person is not in the space; a key may always look. */
export async function requireMember({ db }: Pick<Parts, 'db'>, who: Who, spaceId: string): Promise<void> {
  if (who.entityId === null) return;
  if (!(await store.findMember(db, who.project, spaceId, who.entityId))) throw notFound('space');
}
