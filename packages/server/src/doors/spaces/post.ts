import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, PostedSpaceMessage, TextContent } from '@troupe/protocol';
import { newId, notFound, Refusal } from '../../base/index.ts';
import * as store from '../../store/index.ts';
import { noteDepth } from '../shared/index.ts';
import { type Parts, reach, type Who } from './parts.ts';
import { say } from './say.ts';

export interface SpacePosting {
  id?: string | undefined;
  content: TextContent;
  senderId?: string | undefined;
  user?: string | undefined;
  mentions: string[];
  startsRuns: boolean;
  metadata: JsonObject;
  /** How many triggers led to it. */
  depth?: number | undefined;
}

export interface PostedInSpace {
  message: store.SpaceMessageRow;
  runs: PostedSpaceMessage['runs'];
  duplicate: boolean;
}

/** A person says something. Safe to repeat with the same id. */
export async function postToSpace(
  parts: Parts,
  who: Who,
  space: string,
  posting: SpacePosting,
): Promise<PostedInSpace> {
  const { db } = parts;
  await reach(db, who, space);
  const sender = await senderOf(db, who, posting);
  const mentions = posting.mentions.map((one) => one.toLowerCase());
  await requireKnown(db, who.project, mentions);
  const id = posting.id?.toLowerCase() ?? newId();
  const posted = await say(parts, {
    project: who.project,
    space: space.toLowerCase(),
    message: {
      id,
      role: 'user',
      content: posting.content as store.SpacePost['message']['content'],
      sender,
      metadata: noteDepth(posting.metadata, posting.depth),
    },
    mentions,
    starts: posting.startsRuns,
  });
  if (!posted.ok) throw refusalOf(posted.code);
  if (posted.duplicate && !isDeepStrictEqual(posted.content, posting.content)) throw messageIdTaken();
  const message = await store.findSpaceMessage(db, space, id);
  if (!message) throw notFound('space');
  const started = posted.runs.map((run) => ({
    id: run.id,
    entityId: run.entity,
    outcome: 'started' as const,
  }));
  const found = posted.duplicate ? await store.foldedFor(db, id) : posted.folded;
  const folded = found.map(({ run, entity }) => ({
    id: run,
    entityId: entity,
    outcome: 'folded' as const,
  }));
  // Who waited for it went on long ago.
  if (posted.duplicate) return { message, runs: [...started, ...folded], duplicate: true };
  // A run can wait for it with several calls, and is one run all the same.
  const waited = new Map(posted.replied.map(({ run, entity }) => [run, entity]));
  const replied = [...waited].map(([run, entity]) => ({
    id: run,
    entityId: entity,
    outcome: 'replied' as const,
  }));
  return { message, runs: [...started, ...folded, ...replied], duplicate: false };
}

/** Whoever names somebody that there is not means somebody else: told, instead of starting nobody. */
async function requireKnown(db: store.Database, project: string, mentions: string[]): Promise<void> {
  if (mentions.length === 0) return;
  const known = await store.knownEntities(db, project, mentions);
  const issues = mentions.flatMap((one, at) =>
    known.has(one) ? [] : [{ path: `mentions.${at}`, message: 'is no entity of this project' }],
  );
  if (issues.length === 0) return;
  throw new Refusal('invalid', 'entity_not_found', 'The message mentions an entity that there is not.', {
    hint: 'GET /v1/spaces/{spaceId}/members lists the entities of the space. Nothing was said.',
    issues,
  });
}

/** Who speaks: the person whose token it is, or whom the key names. Nobody speaks for an agent but its runs. */
async function senderOf(
  db: store.Database,
  who: Who,
  { senderId, user }: { senderId?: string | undefined; user?: string | undefined },
): Promise<string> {
  if (who.entityId !== null) {
    const other = user !== undefined || (senderId !== undefined && senderId.toLowerCase() !== who.entityId);
    if (!other) return who.entityId;
    throw new Refusal('forbidden', 'forbidden', 'A person speaks for themselves only.', {
      hint: 'Leave `senderId` and `user` out, or use a secret key.',
    });
  }
  if ((senderId === undefined) === (user === undefined)) {
    throw new Refusal('invalid', 'sender_missing', 'A key has to say who speaks, once.', {
      hint: 'Give either `senderId`, the id of an entity, or `user`, the name of a person in your system.',
    });
  }
  const found = await store.findSpeaker(
    db,
    who.project,
    user === undefined ? { id: senderId!.toLowerCase() } : { externalId: user },
  );
  if (!found) {
    throw new Refusal(
      'invalid',
      'entity_not_found',
      `There is nobody named ${senderId ?? user} in the project.`,
      {
        hint: 'POST /v1/entities registers a person; GET /v1/entities lists all.',
      },
    );
  }
  if (found.type === 'agent') {
    throw new Refusal('invalid', 'entity_not_found', 'Nobody but its own runs speaks for an agent.', {
      hint: 'Name a person. To have an agent begin by itself, use a plan or POST /v1/agents/{agentId}/trigger.',
    });
  }
  return found.id;
}

function refusalOf(code: (store.SpacePosted & { ok: false })['code']): Refusal {
  switch (code) {
    case 'not_a_member':
      return new Refusal('conflict', 'not_a_member', 'Only members speak in a space.', {
        hint: 'Add the entity with POST /v1/spaces/{spaceId}/members.',
      });
    case 'message_id_taken':
      return messageIdTaken();
    default:
      return notFound('space');
  }
}

function messageIdTaken(): Refusal {
  return new Refusal('conflict', 'message_id_taken', 'There is another message with this id.', {
    hint: 'Leave `id` out, or make a new one.',
  });
}
