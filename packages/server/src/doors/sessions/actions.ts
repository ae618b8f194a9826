import { type BusyPolicy, type JsonObject, NOBODY_NAMED } from '@troupe/protocol';
import { newId, notFound, Refusal } from '../../base/index.ts';
import { agentArchived } from '../../definitions/agents/index.ts';
import { messagesOf, type Parts, type Retry, takeUpAgain, type Who } from '../../runs/index.ts';
import * as store from '../../store/index.ts';
import { titleFrom } from './title.ts';

/** The agent and the session of an address; the session is looked for below the agent only. */
export interface SessionAddress {
  agentId: string;
  sessionId: string;
}

const CONTENTION_TRIES = 5;

/** A session that was not given a title is called by its first message. */
function titled(session: store.SessionRow): store.SessionRow {
  return { ...session, title: session.title ?? titleFrom(session.firstText) };
}

export async function getSession(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  { agentId, sessionId }: SessionAddress,
): Promise<store.SessionRow> {
  const session = await store.findSession(db, who, agentId, sessionId);
  if (!session) throw notFound('session');
  return titled(session);
}

export interface Opening {
  title: string | null;
  tags: string[];
  modelId: string | null;
  policy: BusyPolicy;
  metadata: JsonObject;
  expiresAt?: string | null;
  user?: string | undefined;
  /** Chosen by the caller, so that opening it again opens it once. */
  id?: string | undefined;
  /** Whose it is, where a key says so. */
  entityId?: string | undefined;
}

export async function createSession(
  parts: Pick<Parts, 'db'>,
  who: Who,
  agentId: string,
  { user, id = newId(), entityId, ...session }: Opening,
): Promise<store.SessionRow> {
  const { db } = parts;
  const isOther = entityId !== undefined && entityId.toLowerCase() !== who.entityId;
  if (who.entityId !== null && (user !== undefined || isOther)) {
    throw new Refusal('forbidden', 'forbidden', 'A person can open sessions for themselves only.', {
      hint: 'Leave `user` out, or use a secret key.',
    });
  }
  await requireAgent(db, who.project, agentId, 'active');
  await requireModel(db, who.project, session.modelId);
  const entity =
    who.entityId ?? entityId ?? (await store.ensureEntity(db.rows, who.project, user ?? NOBODY_NAMED)).id;
  const ids = { id: id.toLowerCase(), thread: newId() };
  try {
    const made = await store.createSession(db, who.project, { ...session, ...ids, agent: agentId, entity });
    if (!made) throw agentArchived();
  } catch (error) {
    if (!store.isTaken(error, 'sessions_pkey')) throw error;
    // Opened before, by the same caller; or it is somebody else's, who is nobody's business.
    if (!(await store.findSession(db, who, agentId, ids.id))) throw sessionIdTaken();
  }
  return getSession(parts, who, { agentId, sessionId: ids.id });
}

function sessionIdTaken(): Refusal {
  return new Refusal('conflict', 'session_id_taken', 'There is another session with this id.', {
    hint: 'Make a new id.',
  });
}

export async function listSessions(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  agentId: string,
  asked: Omit<store.SessionFilter, 'agentId'>,
): Promise<store.SessionPage> {
  await requireAgent(db, who.project, agentId);
  const { sessions, next } = await store.listSessions(db, who, { ...asked, agentId });
  return { sessions: sessions.map(titled), next };
}

/** Of all agents, those that were spoken to last first. */
export async function listAllSessions(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  asked: store.AllSessionsFilter,
): Promise<store.SessionPage> {
  const { sessions, next } = await store.listAllSessions(db, who, asked);
  return { sessions: sessions.map(titled), next };
}

export async function updateSession(
  parts: Pick<Parts, 'db'>,
  who: Who,
  address: SessionAddress,
  changes: store.SessionChanges,
): Promise<store.SessionRow> {
  const session = await getSession(parts, who, address);
  await requireModel(parts.db, who.project, changes.modelId ?? null);
  await store.updateSession(parts.db, session.id, changes);
  return getSession(parts, who, address);
}

/** The same, unless somebody has changed it since that transaction: then false. */
export async function updateUnchangedSession(
  parts: Pick<Parts, 'db'>,
  who: Who,
  address: SessionAddress,
  changes: store.SessionChanges,
  since: number,
): Promise<boolean> {
  const session = await getSession(parts, who, address);
  await requireModel(parts.db, who.project, changes.modelId ?? null);
  return store.updateSession(parts.db, session.id, changes, since);
}

/** Stops what is under way, so that its worker hears of it, and deletes everything as one. */
export async function deleteSession(
  parts: Parts,
  who: Who,
  address: SessionAddress,
  author: store.Author,
): Promise<void> {
  const { threadId } = await getSession(parts, who, address);
  await stopRuns(parts, threadId);
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.deleteSession(parts.db, author, threadId);
    } catch (error) {
      if (attempt >= CONTENTION_TRIES || !store.isContention(error)) throw error;
    }
  }
}

/** Stops the run at work and those that wait for their turn. Where there is none, nothing is to be done. */
export async function cancelSession(
  parts: Parts,
  who: Who,
  address: SessionAddress,
): Promise<store.SessionRow> {
  const { threadId } = await getSession(parts, who, address);
  await stopRuns(parts, threadId, who.entityId);
  return getSession(parts, who, address);
}

async function stopRuns({ db, kernel }: Parts, thread: string, by: string | null = null): Promise<void> {
  for (const run of await store.openRuns(db, thread)) await kernel.cancel(run, 'user', by);
}

export async function retrySession(
  parts: Parts,
  who: Parameters<typeof takeUpAgain>[1],
  address: SessionAddress,
  { modelId }: Retry = {},
): Promise<store.SessionRow> {
  const session = await getSession(parts, who, address);
  const run = await store.failedRun(parts.db, session.threadId);
  const retried = run ? await takeUpAgain(parts, who, run, modelId) : null;
  if (!retried?.ok) {
    throw new Refusal(
      'conflict',
      'not_failed',
      `The session is ${session.status}; only a failed one can be taken up again.`,
      {
        hint: 'A run that failed while others waited behind it is taken up by POST /v1/runs/{runId}/retry; GET /v1/runs?sessionId=…&status=failed lists them.',
      },
    );
  }
  return getSession(parts, who, address);
}

export async function forkSession(
  parts: Pick<Parts, 'db'>,
  who: Who,
  address: SessionAddress,
  { id = newId(), messageId, title }: { id?: string; messageId: string; title: string | null },
  author: store.Author,
): Promise<store.SessionRow> {
  const session = await getSession(parts, who, address);
  const ids = { id, thread: newId() };
  if (!(await store.forkSession(parts.db, author, session.id, messageId, { ...ids, title }))) {
    throw new Refusal('not_found', 'message_not_found', 'The session has no such message.');
  }
  return getSession(parts, who, { agentId: address.agentId, sessionId: ids.id });
}

export async function listMessages(
  parts: Pick<Parts, 'db'>,
  who: Who,
  address: SessionAddress,
  { search, ...range }: store.MessageRange & { search?: string | undefined },
): Promise<{ messages: store.MessageRow[]; lastSequence: number }> {
  const { threadId } = await getSession(parts, who, address);
  if (search === undefined) return messagesOf(parts.db, threadId, range);
  const found = await store.searchMessages(parts.db, threadId, { query: search, ...range });
  return store.messagesAt(
    parts.db,
    threadId,
    found.map(({ sequence }) => sequence),
  );
}

async function requireAgent(
  db: store.Database,
  project: string,
  agent: string,
  status?: 'active',
): Promise<void> {
  const found = await store.agentStatus(db, project, agent);
  if (found === null) throw notFound('agent');
  if (status && found !== status) throw agentArchived();
}

async function requireModel(db: store.Database, project: string, model: string | null): Promise<void> {
  if (model !== null && !(await store.hasModel(db.rows, project, model))) {
    throw new Refusal('invalid', 'model_not_found', 'The project has no such model.', {
      issues: [{ path: 'modelId', message: 'is no model of this project' }],
    });
  }
}
