import type { Json, JsonObject } from '@troupe/protocol';

// Documents of messages, made of columns: the same as troupe.chat_message_document makes of one message. There a document
// costs 150 µs, for functions that are called for each row and for jsonb that is built only to be sent. A test compares both.

/** Of `x`, the message; `l`, its place; `r`, its run; `o`, the message that began the chain in the space. */
export const MESSAGE_COLUMNS = `x.id as "messageId", coalesce((l.place).user_id, o.sender_id, x.sender_id, r.entity_id) as "userId", (l.place).chat_id as "chatId",
  x.seq as sequence, x.role, case when x.role = 'tool_result' then coalesce(nullif(x.content->'result', 'null') #>> '{}', x.content->'error'->>'message', '')
    else coalesce(x.content->>'text', '') end as text,
  x.tool_call_id as "toolCallId", case when x.role = 'tool_call' then coalesce(x.content->>'name', x.content->'tool'->>'name') end as name,
  coalesce(x.sender_id, case when x.role in ('assistant', 'tool_call') then r.entity_id end) as "senderId", coalesce(x.metadata->>'troupe:run', x.run_id::text) as "runId",
  x.step, x.created_at as "createdAt", x.content->'parts' as parts, case when x.role = 'tool_call' then x.content->'arguments' end as arguments,
  case when x.role = 'tool_call' then x.content->'tool' end as tool, case when x.role = 'tool_result' then x.content->'error' end as error,
  nullif(x.metadata, '{}') as metadata`;

export const MESSAGE_TABLES = `left join troupe.messages x on x.id = p.k1 and not p.gone left join places l on l.thread_id = x.thread_id
  left join troupe.runs r on r.id = x.run_id left join troupe.messages o on (l.place).user_id is null and o.id = r.origin_id and o.thread_id = x.thread_id`;

/** The place once for each thread of the page. */
export const MESSAGE_PLACES = `places as materialized (select t.thread_id, troupe.place_of_thread(t.thread_id) as place
  from (select distinct p.k2::uuid as thread_id from page p where not p.gone) t)`;

export interface MessageColumns {
  messageId: string | null;
  userId: string | null;
  chatId: string;
  sequence: number;
  role: string;
  text: string;
  toolCallId: string | null;
  name: string | null;
  senderId: string | null;
  runId: string | null;
  step: number | null;
  createdAt: Date;
  parts: Json;
  arguments: Json;
  tool: Json;
  error: Json;
  metadata: JsonObject | null;
}

/** Null: the message is gone. */
export function toMessageDocument(row: MessageColumns): Record<string, unknown> | null {
  if (row.messageId === null) return null;
  const document: Record<string, unknown> = {
    id: row.messageId,
    chatId: row.chatId,
    sequence: row.sequence,
    role: row.role,
    content: row.text,
    createdAt: row.createdAt.getTime(),
    metadata: row.metadata === null ? {} : withoutOwnKeys(row.metadata),
  };
  for (const field of OPTIONAL) if (row[field] !== null) document[field] = row[field];
  return document;
}

const OPTIONAL = [
  'userId',
  'toolCallId',
  'name',
  'senderId',
  'runId',
  'step',
  'parts',
  'arguments',
  'tool',
  'error',
] as const;

/** As troupe.own_metadata. */
function withoutOwnKeys(metadata: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).filter(([key]) => !key.startsWith('troupe:') && key !== 'runContext'),
  );
}
