import type { Json, JsonObject, MessageRole } from '@troupe/protocol';
import type { Database } from '../database.ts';

export interface MessageRow {
  id: string;
  threadId: string;
  sequence: number;
  role: MessageRole;
  content: Json;
  toolCallId: string | null;
  senderId: string | null;
  runId: string | null;
  step: number | null;
  metadata: JsonObject | null;
  /** Text where it comes out of a JSON document. */
  createdAt: Date | string;
}

/**
 * Where the first call of a step keeps what its model thought, in its provider's own form. The kernel gives it back to the
 * model; nobody else reads it, so it is left out here.
 */
export const REASONING_KEY = 'troupe:reasoning';

export const MESSAGE = `select m.id, m.thread_id as "threadId", m.seq as sequence, m.role, m.content, m.tool_call_id as "toolCallId", m.sender_id as "senderId",
  m.run_id as "runId", m.step, m.metadata - '${REASONING_KEY}' as metadata, m.created_at as "createdAt" from troupe.messages m`;

export interface MessageRange {
  after?: number | undefined;
  before?: number | undefined;
  limit: number;
}

/** In their order. With `before` alone the last ones before it, otherwise the first ones after `after`. */
export async function listMessages(db: Database, thread: string, range: MessageRange): Promise<MessageRow[]> {
  const backwards = range.before !== undefined && range.after === undefined;
  const rows = await db.run<MessageRow>(
    {
      name: backwards ? 'list_messages_backwards' : 'list_messages',
      text: `${MESSAGE} where m.thread_id = $1 and m.seq > $2 and ($3::bigint is null or m.seq < $3)
        order by m.seq ${backwards ? 'desc' : 'asc'} limit $4`,
      values: [thread, range.after ?? 0, range.before ?? null, range.limit],
    },
    db.pool,
  );
  return backwards ? rows.reverse() : rows;
}

export async function findMessage(db: Database, id: string): Promise<MessageRow | null> {
  const rows = await db.run<MessageRow>(
    { name: 'find_message', text: `${MESSAGE} where m.id = $1`, values: [id] },
    db.pool,
  );
  return rows[0] ?? null;
}

export async function lastMessageSequence(db: Database, thread: string): Promise<number> {
  const rows = await db.run<{ last: number }>(
    {
      name: 'last_message_sequence',
      text: 'select last_message_seq as last from troupe.threads where id = $1',
      values: [thread],
    },
    db.pool,
  );
  return rows[0]?.last ?? 0;
}
