import type { Json, MessageRole } from '@troupe/protocol';
import type { Database } from '../database.ts';
import type { MessageRange } from './messages.ts';

export interface FoundText {
  id: string;
  sequence: number;
  role: MessageRole;
  toolCallId: string | null;
  /** The whole text, or the passages that match. */
  text: string;
  createdAt: Date;
}

const MAX_WORDS = 20;
/** `to_tsvector` refuses very long texts. */
const MAX_INDEXED = 200_000;
const MAX_TEXT = 1_500;

/**
 * Full-text search in one thread, best match first. `except`: calls of this tool and their results are left out. Messages are not indexed: an index would slow down every commit, and a
 * thread is small enough to read.
 */
export async function searchMessages(
  db: Database,
  thread: string,
  { query, limit, after = 0, before, except }: MessageRange & { query: string; except?: string },
): Promise<FoundText[]> {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, MAX_WORDS);
  return db.run<FoundText & { [column: string]: unknown }>(
    {
      name: 'search_messages',
      text: `with asked as (select to_tsquery('simple', $2) as query),
        found as (
          select m.id, m.seq, m.role, m.tool_call_id, m.run_id, m.created_at, t.text,
            ts_rank(to_tsvector('simple', left(t.text, ${MAX_INDEXED})), a.query)
              + case when position($3 in lower(t.text)) > 0 then 1 else 0 end as rank
          from troupe.messages m cross join asked a
            cross join lateral (select case
              when m.role = 'tool_call' then concat(m.content->>'name', ' ', m.content->'arguments')
              when m.role = 'tool_result' then regexp_replace(coalesce(m.content->>'result', m.content->>'error'),
                '[A-Za-z0-9+/]{200,}', '', 'g')
              else m.content->>'text' end as text) t
          where m.thread_id = $1 and m.seq > $6 and ($7::bigint is null or m.seq < $7) and not (m.role = 'system' and coalesce(m.metadata ? 'troupe:summary', false))
            and (to_tsvector('simple', left(t.text, ${MAX_INDEXED})) @@ a.query or position($3 in lower(t.text)) > 0)
            and ($5::text is null or m.tool_call_id is null or not exists (select from troupe.tool_calls c
              where c.run_id = m.run_id and c.call_id = m.tool_call_id and c.tool = $5))
          order by rank desc, m.seq desc limit $4)
        select f.id, f.seq as sequence, f.role, f.tool_call_id as "toolCallId", f.created_at as "createdAt",
          case when length(f.text) <= ${MAX_TEXT} then f.text
            else ts_headline('simple', left(f.text, ${MAX_INDEXED}), a.query,
              'StartSel="", StopSel="", MaxFragments=4, MaxWords=60, MinWords=20, FragmentDelimiter=" … "') end as text
        from found f cross join asked a order by f.rank desc, f.seq desc`,
      values: [
        ...[thread, words.map((word) => `${word}:*`).join(' | '), query.trim().toLowerCase()],
        ...[limit, except ?? null, after, before ?? null],
      ],
    },
    db.pool,
  );
}

/** The newest result of a call in a thread. Undefined if there is none. */
export async function readResult(db: Database, thread: string, callId: string): Promise<Json | undefined> {
  const rows = await db.run<{ result: Json }>(
    {
      name: 'read_result',
      text: `select case when m.content->'error' = 'null' then m.content->'result' else m.content->'error' end as result
        from troupe.messages m
        where m.thread_id = $1 and m.role = 'tool_result' and m.tool_call_id = $2 order by m.seq desc limit 1`,
      values: [thread, callId],
    },
    db.pool,
  );
  return rows[0]?.result;
}
