import type { Message, Session } from '@troupe/protocol';
import { ASKED_KEY, answeredBy, askedIn, DEPTH_KEY, RUN_KEY } from '../../doors/sessions/index.ts';
import type { MessageRow, SessionRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentSession({ firstText: _, ...session }: SessionRow): Session {
  return isoTimes(session);
}

export function presentMessage(sessionId: string | null, row: MessageRow): Message {
  const { threadId: _, metadata, ...message } = row;
  const { [RUN_KEY]: __, [ASKED_KEY]: ___, [DEPTH_KEY]: ____, ...own } = metadata ?? {};
  return {
    ...message,
    sessionId,
    runId: answeredBy(row),
    ...(row.role === 'user' ? askedIn(metadata) : {}),
    metadata: own,
    createdAt: new Date(row.createdAt).toISOString(),
    // What the content is, its role says; whoever wrote it saw to that.
  } as Message;
}
