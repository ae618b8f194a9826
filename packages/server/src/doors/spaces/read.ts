import { notFound, Refusal } from '../../base/index.ts';
import { patiently } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts, Who } from './parts.ts';
import { getSpace } from './spaces.ts';

// What people do in a space without saying anything.

/** How far somebody has read. It never goes back: of two programs of one person, the one that is behind changes nothing. */
export async function markRead(
  { db, kernel }: Parts,
  who: Who,
  spaceId: string,
  { messageId, entityId }: { messageId: string; entityId?: string | undefined },
): Promise<{ lastSeenMessageId: string; unread: number }> {
  const entity = await personOf(db, who, spaceId, entityId);
  const marked = await patiently(() =>
    store.markRead(db, who.project, { space: spaceId, entity, message: messageId }),
  );
  if (!marked.ok) {
    if (marked.code === 'message_not_found')
      throw new Refusal('not_found', 'message_not_found', 'The space has no such message.');
    throw marked.code === 'space_not_found' ? notFound('space') : strangerTo(who, marked.code);
  }
  if (marked.moved) kernel.touched(spaceId.toLowerCase());
  const { lastSeenMessageId, unread } = marked;
  return { lastSeenMessageId, unread };
}

/** Who is typing, as the others are told. */
export async function findTyping(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  spaceId: string,
  entityId: string | undefined,
): Promise<{ entityId: string; name: string | null }> {
  const entity = await personOf(db, who, spaceId, entityId);
  const member = await store.findMember(db, who.project, spaceId, entity);
  if (!member) await getSpace({ db }, who, spaceId);
  if (member?.type !== 'human') throw strangerTo(who, member ? 'not_a_person' : 'not_a_member');
  return { entityId: member.entityId, name: member.name };
}

/** A person acts for themselves; a key says for whom. */
async function personOf(
  db: store.Database,
  who: Who,
  spaceId: string,
  entityId: string | undefined,
): Promise<string> {
  if (who.entityId !== null && entityId !== undefined && entityId.toLowerCase() !== who.entityId) {
    throw new Refusal('forbidden', 'forbidden', 'A person can act for themselves only.', {
      hint: 'Leave `entityId` out, or use a secret key.',
    });
  }
  const entity = who.entityId ?? entityId;
  if (entity !== undefined) return entity;
  await getSpace({ db }, who, spaceId);
  throw new Refusal('invalid', 'sender_missing', 'It is not said who does this.', {
    hint: 'A key says so with `entityId`.',
    issues: [{ path: 'entityId', message: 'is required where a key asks' }],
  });
}

/** A person who is not in a space does not learn that it is there. */
function strangerTo(who: Who, code: 'not_a_member' | 'not_a_person'): Refusal {
  if (who.entityId !== null) return notFound('space');
  return code === 'not_a_member'
    ? new Refusal('conflict', 'not_a_member', 'The entity is not a member of the space.', {
        hint: 'POST /v1/spaces/{spaceId}/members adds it.',
      })
    : new Refusal('conflict', 'not_a_person', 'The entity is an agent; this is for people.');
}
