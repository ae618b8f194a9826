import type { JsonObject, Message, Session } from '@troupe/protocol';
import { type Page, toCursor } from '../../base/index.ts';
import { answeredBy, askedIn, SUMMARY_KEY } from '../../doors/sessions/index.ts';
import type { MessageRow, SessionPage, SessionRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentSession({ firstText: _, ...session }: SessionRow): Session {
  return isoTimes(session);
}

export function presentSessions({ sessions, next }: SessionPage): Page<Session> {
  return { data: sessions.map(presentSession), nextCursor: next && toCursor(next) };
}

/** Without internal metadata of the server. */
function ownMetadata(metadata: JsonObject | null): JsonObject {
  const entries = Object.entries(metadata ?? {});
  return Object.fromEntries(entries.filter(([key]) => !key.startsWith('troupe:')));
}

export function presentMessage(sessionId: string | null, row: MessageRow): Message {
  const { threadId: _, metadata, ...message } = row;
  const { upTo } = (metadata?.[SUMMARY_KEY] ?? {}) as { upTo?: number };
  return {
    ...message,
    sessionId,
    runId: answeredBy(row),
    ...(row.role === 'user' ? askedIn(metadata) : {}),
    metadata: { ...ownMetadata(metadata), ...(upTo === undefined ? {} : { summary: { upTo } }) },
    createdAt: new Date(row.createdAt).toISOString(),
    // What the content is, its role says; whoever wrote it saw to that.
  } as Message;
}
