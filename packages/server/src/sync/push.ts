import { isDeepStrictEqual } from 'node:util';
import {
  type BusyPolicy,
  type Collection,
  contentPart,
  type JsonObject,
  type NewOutsideTask,
  newMessage,
  newSession,
  newTask,
  type TextContent,
} from '@troupe/protocol';
import { z } from 'zod';
import { isId, Refusal } from '../base/index.ts';
import { type Database, type Found, findChatFor, findDocument, type SyncScope } from '../store/index.ts';

export type Who = Pick<SyncScope, 'project' | 'entityId'>;
type SessionFields = z.output<typeof sessionFields>;

/** What pushes do: the doors' own actions, as they are for everybody else. Each is safe to repeat. */
export interface Actions {
  postToSession(
    at: { agentId: string; sessionId: string },
    message: { id: string; content: TextContent; metadata: JsonObject; policy?: BusyPolicy },
  ): Promise<unknown>;
  postToSpace(
    space: string,
    message: { id: string; content: TextContent; metadata: JsonObject; senderId: string | undefined },
  ): Promise<unknown>;
  openSession(
    session: SessionFields & { id: string; agentId: string; userId: string | undefined },
  ): Promise<unknown>;
  /** Only where nobody has changed it since that transaction; false: somebody has. */
  changeSession(
    at: { agentId: string; sessionId: string },
    fields: SessionFields,
    unchangedSince: number,
  ): Promise<boolean>;
  deleteSession(at: { agentId: string; sessionId: string }): Promise<unknown>;
  /** Creates the task under its id. */
  createTask(task: NewOutsideTask & { id: string }): Promise<unknown>;
  markRead(space: string, messageId: string, entityId: string): Promise<unknown>;
}

type Document = { id: string; _deleted: boolean } & Record<string, unknown>;
export interface PushRow {
  newDocumentState: Document;
  assumedMasterState?: Record<string, unknown> | null | undefined;
}
export interface Pushed {
  conflicts: Document[];
  refused: { id: string; code: string; message: string }[];
}

interface Parts {
  db: Database;
  who: Who;
  actions: Actions;
}

const WRITERS: Partial<Record<Collection, (parts: Parts, row: PushRow) => Promise<Document | null>>> = {
  messages: pushMessage,
  sessions: pushSession,
  memberships: pushMembership,
  tasks: pushTask,
};
export const WRITABLE = Object.keys(WRITERS) as Collection[];

/**
 * What a client wrote, row by row. What cannot be done is answered with the document as it is here, which the client then takes; where there is
 * none, with the client's own as deleted. So a client never goes on sending what it will never be rid of. Whatever may go well another time is
 * thrown, and the client sends all of it again: what was done by then is found done.
 */
export async function pushRows(
  db: Database,
  collection: Collection,
  who: Who,
  actions: Actions,
  rows: readonly PushRow[],
): Promise<Pushed> {
  const write = WRITERS[collection];
  if (!write) {
    throw new Refusal('forbidden', 'collection_read_only', `Clients do not write into ${collection}.`, {
      hint: `These can be written: ${WRITABLE.join(', ')}. Replicate the others without \`push\`.`,
    });
  }
  const pushed: Pushed = { conflicts: [], refused: [] };
  for (const row of rows) {
    const { id } = row.newDocumentState;
    try {
      const conflict = await write({ db, who, actions }, row);
      if (conflict) pushed.conflicts.push(conflict);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === 'rate_limited') throw error;
      pushed.refused.push({ id, code: error.code, message: error.message });
      const master = await findMaster(db, collection as keyof typeof KEYS, who, id);
      pushed.conflicts.push(master ? presented(master) : { ...row.newDocumentState, _deleted: true });
    }
  }
  return pushed;
}

/**
 * What was written, where it is not word for word what was sent: the server adds to it. The client may be told of it before this answer arrives, and
 * passes over that, since it has something of its own that was not taken yet. So it is told here.
 */
async function differing(
  { db, who }: Parts,
  collection: keyof typeof KEYS,
  { _deleted, ...sent }: Document,
): Promise<Document | null> {
  const master = await findMaster(db, collection, who, sent.id as string);
  if (!master) return { ...sent, _deleted: true } as Document;
  return isDeepStrictEqual(sent, master.document) ? null : presented(master);
}

const presented = ({ document }: Found): Document => ({ ...(document as { id: string }), _deleted: false });

const KEYS = {
  messages: isId,
  tasks: isId,
  sessions: isId,
  memberships: (id: string) => {
    const [space = '', entity = '', ...rest] = id.split(':');
    return isId(space) && isId(entity) && rest.length === 0;
  },
} as const satisfies Partial<Record<Collection, (id: string) => boolean>>;

function findMaster(
  db: Database,
  collection: keyof typeof KEYS,
  who: Who,
  id: string,
): Promise<Found | null> {
  return KEYS[collection](id) ? findDocument(db, collection, who, id) : Promise.resolve(null);
}

function parse<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Refusal(
    'invalid',
    'invalid_document',
    `${issue?.path.join('.') || 'The document'}: ${issue?.message}.`,
  );
}

// ---- messages: what a person says

const said = z.object({
  id: z.uuid(),
  chatId: z.uuid(),
  role: z.literal('user', { error: 'clients say what people say' }),
  content: z.string(),
  parts: z.array(contentPart).optional(),
  metadata: newMessage.shape.metadata,
});

async function pushMessage(parts: Parts, { newDocumentState: given }: PushRow): Promise<Document | null> {
  const { db, who, actions } = parts;
  const known = await findMaster(db, 'messages', who, given.id);
  // Said before, perhaps by ourselves, with the answer lost on its way. What was said stays.
  if (known) return given._deleted ? presented(known) : differing(parts, 'messages', given);
  if (given._deleted) return null;
  const { id, chatId, content: text, parts: pieces, metadata } = parse(said, given);
  const content = parse(newMessage.shape.content, { text, ...(pieces?.length ? { parts: pieces } : {}) });
  const chat = await findChatFor(db, who, chatId);
  // It may yet come, in the push of another collection: the client sends it again for a while.
  if (!chat) throw new Refusal('not_found', 'chat_not_found', 'There is no such session or space.');
  if (chat.kind === 'gone')
    throw new Refusal('conflict', 'chat_gone', 'The session or space is not there any more.');
  const message = { id, content: content as TextContent, metadata: metadata as JsonObject };
  if (chat.kind === 'session') {
    // Whoever wrote it is not waiting for an answer, and could not know that the session is at work.
    const waits = chat.policy === 'reject' ? { policy: 'queue' as const } : {};
    await actions.postToSession({ agentId: chat.agentId, sessionId: chatId }, { ...message, ...waits });
  } else await actions.postToSpace(chatId, { ...message, senderId: senderOf(who, given) });
  return differing(parts, 'messages', given);
}

const senderOf = (who: Who, { senderId }: Document) =>
  who.entityId ?? (typeof senderId === 'string' ? senderId : undefined);

// ---- sessions: open, rename, delete

const sessionFields = newSession.pick({
  title: true,
  tags: true,
  modelId: true,
  policy: true,
  metadata: true,
});
const FIELDS = ['title', 'tags', 'modelId', 'policy', 'metadata'] as const;
const fieldsOf = (document: Record<string, unknown>) =>
  Object.fromEntries(
    FIELDS.flatMap((field) => (document[field] === undefined ? [] : [[field, document[field]]])),
  );

async function pushSession(parts: Parts, row: PushRow): Promise<Document | null> {
  const { db, who, actions } = parts;
  const { newDocumentState: given, assumedMasterState: assumed } = row;
  const known = await findMaster(db, 'sessions', who, given.id);
  if (!known) {
    if (given._deleted) return null;
    // One that was there when the client saw it last is not opened again: somebody deleted it.
    if (assumed) return { ...given, _deleted: true };
    const { id, agentId, userId } = parse(
      z.object({ id: z.uuid(), agentId: z.uuid(), userId: z.uuid().or(z.literal('')).optional() }),
      given,
    );
    await actions.openSession({
      ...parse(sessionFields, fieldsOf(given)),
      id,
      agentId,
      userId: userId || undefined,
    });
    return differing(parts, 'sessions', given);
  }
  const { document, xid } = known;
  const fields = parse(sessionFields, fieldsOf(given));
  // Who assumes nothing opened it without hearing of that, and may have gone on with it since; as long as nobody else has.
  const isAsAssumed = assumed
    ? isDeepStrictEqual(parse(sessionFields, fieldsOf(assumed)), parse(sessionFields, fieldsOf(document)))
    : document.updatedAt === document.createdAt;
  const isThere = isDeepStrictEqual(fields, parse(sessionFields, fieldsOf(document))) && !given._deleted;
  const isAnother = given.agentId !== document.agentId;
  if (isThere && !isAnother) return assumed ? null : differing(parts, 'sessions', given);
  if (!isAsAssumed || isAnother) return presented(known);
  const at = { agentId: String(document.agentId), sessionId: given.id };
  if (given._deleted) {
    await actions.deleteSession(at);
    return null;
  }
  // Only the time is the server's, and not worth a conflict: what is written next would be given up for it.
  if (await actions.changeSession(at, fields, xid)) return null;
  const now = await findMaster(db, 'sessions', who, given.id);
  return now ? presented(now) : { ...given, _deleted: true };
}

// ---- memberships: how far a person has read

async function pushMembership(parts: Parts, { newDocumentState: given }: PushRow): Promise<Document | null> {
  const { db, who, actions } = parts;
  const known = await findMaster(db, 'memberships', who, given.id);
  if (!known) return { ...given, _deleted: true };
  const [space = '', entity = ''] = given.id.split(':');
  const read = given.lastSeenMessageId;
  const isOwn = who.entityId === null || entity === who.entityId;
  const moves =
    isOwn && !given._deleted && typeof read === 'string' && read !== known.document.lastSeenMessageId;
  if (moves) await actions.markRead(space, parse(z.uuid(), read), entity);
  // It never goes back, and nothing else of it is the client's: what differs is answered.
  return given._deleted ? presented(known) : differing(parts, 'memberships', given);
}

// ---- tasks: new ones

const pushedTask = newTask.omit({ chat: true, userId: true, triggerMessageId: true }).extend({
  id: z.uuid(),
  chatId: z.uuid(),
  // RxDB documents always have an instruction, also for tools.
  instruction: z.string().trim().max(100_000).optional(),
  userId: z.uuid().or(z.literal('')).optional(),
  triggerMessageId: z.uuid().or(z.literal('')).optional(),
});

async function pushTask(parts: Parts, { newDocumentState: given }: PushRow): Promise<Document | null> {
  const { db, who, actions } = parts;
  const known = await findMaster(db, 'tasks', who, given.id);
  // Only the server changes a task.
  if (known) return given._deleted ? presented(known) : differing(parts, 'tasks', given);
  if (given._deleted) return null;
  const read = parse(z.object(pushedTask.shape), given);
  const { chatId: chat, userId, triggerMessageId, instruction, ...task } = read;
  await actions.createTask({
    ...task,
    chat,
    ...(instruction && task.type === 'agent' ? { instruction } : {}),
    ...(userId && who.entityId === null ? { userId } : {}),
    ...(triggerMessageId ? { triggerMessageId } : {}),
  });
  return differing(parts, 'tasks', given);
}
