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

// What an agent says carries no sender: that is the entity of its run, and looked up where somebody asks, so that the
// commit of a step needs no column for it. Earlier runs of a fork may be gone; its own one is the same agent's.
export const SENDER = `coalesce(m.sender_id, case when m.role in ('assistant', 'tool_call') then coalesce(
    (select r.entity_id from troupe.runs r where r.id = m.run_id),
    (select r.entity_id from troupe.threads t join troupe.runs r on r.thread_id = t.id where t.id = m.thread_id and t.kind = 'run' limit 1)) end)`;

/**
 * Where the first call of a step keeps what its model thought, in its provider's own form. The kernel gives it back to the
 * model; nobody else reads it, so it is left out here.
 */
export const REASONING_KEY = 'troupe:reasoning';
/** Metadata key of the first message of a step: the last message that steers the run which its model had read. */
export const HEARD_KEY = 'troupe:heard';

export const MESSAGE = `select m.id, m.thread_id as "threadId", m.seq as sequence, m.role, m.content, m.tool_call_id as "toolCallId", ${SENDER} as "senderId",
  m.run_id as "runId", m.step, m.metadata - '${REASONING_KEY}' as metadata, m.created_at as "createdAt" from troupe.messages m`;

export interface MessageRange {
  after?: number | undefined;
  before?: number | undefined;
  limit: number;
  /** Only what this run was asked and what it said. */
  run?: string | undefined;
}

/** In their order. With `before` alone the last ones before it, otherwise the first ones after `after`. */
export async function listMessages(db: Database, thread: string, range: MessageRange): Promise<MessageRow[]> {
  const backwards = range.before !== undefined && range.after === undefined;
  const rows = await db.run<MessageRow>(
    {
      name: backwards ? 'list_messages_backwards' : 'list_messages',
      text: `${MESSAGE} where m.thread_id = $1 and m.seq > $2 and ($3::bigint is null or m.seq < $3)
          and ($5::uuid is null or m.run_id = $5 or m.seq = (select r.trigger_seq from troupe.runs r where r.id = $5))
        order by m.seq ${backwards ? 'desc' : 'asc'} limit $4`,
      values: [thread, range.after ?? 0, range.before ?? null, range.limit, range.run ?? null],
    },
    db.pool,
  );
  return backwards ? rows.reverse() : rows;
}

/** The messages with these sequence numbers, in their order. */
export async function messagesAt(
  db: Database,
  thread: string,
  sequences: number[],
): Promise<{ messages: MessageRow[]; lastSequence: number }> {
  const lastSequence = await lastMessageSequence(db, thread);
  const messages = await db.run<MessageRow>(
    {
      name: 'messages_at',
      text: `${MESSAGE} where m.thread_id = $1 and m.seq = any($2) order by m.seq`,
      values: [thread, sequences],
    },
    db.pool,
  );
  return { messages, lastSequence };
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
