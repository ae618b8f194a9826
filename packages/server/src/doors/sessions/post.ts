import { isDeepStrictEqual } from 'node:util';
import type { BusyPolicy, JsonObject, PostedMessage, ReasoningEffort, TextContent } from '@troupe/protocol';
import { newId, notFound, Refusal } from '../../base/index.ts';
import { agentArchived, snapshotFor } from '../../definitions/agents/index.ts';
import type { Parts, Who } from '../../runs/index.ts';
import * as store from '../../store/index.ts';
import { MAX_HISTORY, noteDepth } from '../shared/index.ts';
import type { SessionAddress } from './actions.ts';
import { noteAsked } from './asked.ts';
import { sessionsDoor } from './door.ts';
import { answeredBy, RUN_KEY } from './turns.ts';

export interface Posting {
  id?: string | undefined;
  content: TextContent;
  policy?: BusyPolicy | undefined;
  modelId?: string | undefined;
  reasoningEffort?: ReasoningEffort | undefined;
  metadata: JsonObject;
  /** How many triggers led to it. */
  depth?: number | undefined;
  /** What whoever asks is doing, for the run's span. */
  traceparent?: string | undefined;
}

export interface Posted {
  message: store.MessageRow;
  run: PostedMessage['run'];
}

/**
 * A message and the run that answers it. Two statements: what must be known, and everything that is written. Safe to repeat
 * with the same message id.
 */
export async function postMessage(
  { db, kernel }: Parts,
  who: Who,
  { agentId, sessionId }: SessionAddress,
  posting: Posting,
): Promise<Posted> {
  const id = posting.id?.toLowerCase() ?? newId();
  const asked = { id, modelId: posting.modelId ?? null };
  const session = await store.findSessionForPost(db, who, agentId, sessionId, asked);
  if (!session) throw notFound('session');
  const thread = session.threadId;
  if (session.existing) return duplicate(session.existing, thread, posting);
  if (session.status === 'failed') throw sessionFailed();

  const current = await snapshotFor(db, {
    project: who.project,
    agentId,
    modelIds: [posting.modelId, session.modelId],
    standing: session.standing ?? undefined,
  });
  if (current.status === 'archived') throw agentArchived();

  const policy = posting.policy ?? session.policy;
  if (policy === 'steer' && session.status !== 'pending' && (posting.modelId || posting.reasoningEffort)) {
    throw new Refusal('invalid', 'invalid_request', 'A message that steers a run cannot change its model.', {
      hint: 'Leave `modelId` and `reasoningEffort` out, or use another policy.',
      issues: [
        { path: posting.modelId ? 'modelId' : 'reasoningEffort', message: 'is the run’s, which goes on' },
      ],
    });
  }
  const run = newId();
  const message = {
    id,
    role: 'user' as const,
    content: posting.content as store.StoredMessage['content'],
    sender: who.entityId ?? session.entityId,
    metadata: { ...noteAsked(noteDepth(posting.metadata, posting.depth), posting), [RUN_KEY]: run },
  };
  const metadata = {
    ...(posting.modelId ? { modelId: posting.modelId } : {}),
    ...(posting.reasoningEffort ? { reasoningEffort: posting.reasoningEffort } : {}),
    ...(posting.traceparent ? { traceparent: posting.traceparent } : {}),
  };
  const item = {
    project: who.project,
    thread,
    // The run may have failed since it was looked at: what the commit finds decides.
    unlessFailed: true as const,
    message,
    run: {
      id: run,
      door: sessionsDoor.name,
      agent: agentId,
      entity: current.entityId,
      snapshot: current.snapshotId,
      triggerType: 'message',
      serial: true,
      wallMs: current.wallMs,
      historyLimit: MAX_HISTORY,
      metadata,
    },
  };
  const done =
    policy === 'queue'
      ? started(await kernel.start(item))
      : await kernel.post({ ...item, policy, ...(who.entityId ? { by: who.entityId } : {}) });
  if (!done.ok) throw refusalOf(done.code);
  if (done.outcome === 'duplicate') {
    const existing = await store.findMessage(db, id);
    if (!existing) throw notFound('session');
    return duplicate(existing, thread, posting);
  }
  const { sender, ...told } = message;
  return {
    message: {
      ...told,
      threadId: thread,
      sequence: done.seq,
      toolCallId: null,
      senderId: sender,
      runId: done.run,
      step: null,
      createdAt: done.createdAt!,
    },
    run: { id: done.run!, outcome: done.outcome === 'started' && !done.ready ? 'queued' : done.outcome },
  };
}

function started(answer: store.Started): store.Posted {
  if (!answer.ok) return answer;
  const { seq, duplicate, ...rest } = answer;
  return { ...rest, outcome: duplicate ? 'duplicate' : 'started', seq: seq! };
}

function refusalOf(code: (store.Posted & { ok: false })['code']): Refusal {
  if (code === 'busy') return sessionBusy();
  if (code === 'thread_failed') return sessionFailed();
  return code === 'message_id_taken' ? messageIdTaken() : notFound('session');
}

/** What was posted before is answered as it was; the id of a message elsewhere, or of another one, is not to be had. */
function duplicate(message: store.MessageRow, thread: string, { content }: Posting): Posted {
  if (message.threadId !== thread || message.role !== 'user') throw messageIdTaken();
  if (!isDeepStrictEqual(message.content, content)) throw messageIdTaken();
  const run = answeredBy(message);
  return { message, run: run === null ? null : { id: run, outcome: 'duplicate' } };
}

function messageIdTaken(): Refusal {
  return new Refusal('conflict', 'message_id_taken', 'There is another message with this id.', {
    hint: 'Leave `id` out, or make a new one.',
  });
}

function sessionFailed(): Refusal {
  return new Refusal('conflict', 'session_failed', 'The last run of this session failed.', {
    hint: 'Retry the session, or fork it at an earlier message.',
  });
}

function sessionBusy(): Refusal {
  return new Refusal('conflict', 'session_busy', 'The session is at work, and this message is not to wait.', {
    hint: 'Post it again later, or with the policy queue, steer or interrupt.',
  });
}
