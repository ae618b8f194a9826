import type { Collection } from '@troupe/protocol';
import { MESSAGE_COLUMNS, MESSAGE_PLACES, MESSAGE_TABLES } from './message-documents.ts';

// Where the documents of a collection are found: those that are there, and those that are gone. Each source gives (xid, id, k1, k2, gone); k1 and
// k2 lead back to the row. $1 project, $2 person, $3 the transaction to begin at, $6 chat. In a space, what was there before somebody joined became theirs with that:
// its place in the order is the later of the two. What was there when somebody left is gone for them from then on. Who left before somebody came is
// told to them only where they were there before that, too.

type Whose = 'project' | 'person';
type Sources = Record<Whose, string>;

const chat = (column: string) => `($6::uuid is null or ${column} = $6)`;

/** For one row per person and a column that says whose it is. */
const owned = (table: string, alias: string, owner: string, ofChat: string): Sources => ({
  project: `select ${alias}.xid, ${alias}.id::text as id, ${alias}.id as k1, null::text as k2, false as gone from troupe.${table} ${alias}
    where ${alias}.project_id = $1 and ${alias}.xid >= $3 and ${chat(ofChat)}`,
  person: `select ${alias}.xid, ${alias}.id::text as id, ${alias}.id as k1, null::text as k2, false as gone from troupe.${table} ${alias}
    where ${alias}.project_id = $1 and ${alias}.${owner} = $2 and ${alias}.xid >= $3 and ${chat(ofChat)}`,
});

const subAgentMessages = (
  whose: string,
) => `select m.xid, m.id::text as id, m.id as k1, null::text as k2, false as gone
  from troupe.sub_agents a join troupe.messages m on m.thread_id = a.thread_id
  where a.project_id = $1 ${whose} and ${chat('a.chat_id')} and m.xid >= $3 and troupe.begins_document(m)`;
const subAgentCalls = (
  whose: string,
) => `select c.xid, troupe.call_document_id(c.run_id, c.call_id) as id, c.run_id as k1, c.call_id as k2, false as gone
  from troupe.sub_agents a join troupe.runs r on r.task_id = a.task_id join troupe.tool_calls c on c.run_id = r.id
  where a.project_id = $1 ${whose} and ${chat('a.chat_id')} and c.xid >= $3`;

// The position of a scan of messages: `thread:seq`, of the last message that was read.
const THREAD = `coalesce(nullif(split_part($4, ':', 1), ''), '00000000-0000-0000-0000-000000000000')::uuid`;
const SEQ = `coalesce(nullif(split_part($4, ':', 2), ''), '0')::bigint`;

/**
 * Messages of `threads` (id, joined), which come in the order of their ids. A page reads the messages that it has, by the primary key, and the
 * threads: ordered by the id of the message, each page would sort all messages that are left.
 */
const messagesOf = (
  threads: string,
) => `select m.xid, m.id::text as id, m.id as k1, t.id::text as k2, false as gone, t.id || ':' || m.seq as place
  from (${threads} order by 1) t cross join lateral (select m.xid, m.id, m.seq from troupe.messages m
      where m.thread_id = t.id and m.seq > case when t.id = ${THREAD} then ${SEQ} else 0 end
        and greatest(m.xid, t.joined) < (select f.below from floor f) order by m.seq limit $5) m
  where ($1::uuid, $2::uuid, $3::bigint, $6::uuid) is not null is not null order by t.id, m.seq limit $5`;

/**
 * `document`: made of the row that `p` leads to. `joined`: made of columns instead, by `toMessageDocument`. `scan`: all documents in an order of its own, with `place` as the
 * position.
 */
export const LIVE: Record<
  Collection,
  {
    candidates: Sources;
    document: string;
    joined?: { before: string; tables: string; columns: string };
    scan?: Sources & { order: string };
  }
> = {
  tasks: {
    candidates: owned('tasks', 't', 'user_id', 't.chat_id'),
    document: '(select troupe.task_document(x) from troupe.tasks x where x.id = p.k1)',
  },
  sub_agents: {
    candidates: owned('sub_agents', 'a', 'user_id', 'a.chat_id'),
    document: '(select troupe.sub_agent_document(x) from troupe.sub_agents x where x.id = p.k1)',
  },
  sub_agent_messages: {
    candidates: { project: subAgentMessages(''), person: subAgentMessages('and a.user_id = $2') },
    document: '(select troupe.message_document(x) from troupe.messages x where x.id = p.k1)',
  },
  sub_agent_tool_calls: {
    candidates: { project: subAgentCalls(''), person: subAgentCalls('and a.user_id = $2') },
    document:
      '(select troupe.tool_call_document(x) from troupe.tool_calls x where x.run_id = p.k1 and x.call_id = p.k2)',
  },
  sessions: {
    candidates: owned('sessions', 's', 'entity_id', 's.id'),
    document: '(select troupe.session_document(x) from troupe.sessions x where x.id = p.k1)',
  },
  messages: {
    candidates: {
      project: `select m.xid, m.id::text as id, m.id as k1, m.thread_id::text as k2, false as gone from troupe.messages m join troupe.threads t on t.id = m.thread_id
        where t.project_id = $1 and t.kind in ('session', 'space') and m.xid >= $3
          and ($6::uuid is null or m.thread_id = $6 or m.thread_id = (select s.thread_id from troupe.sessions s where s.id = $6))`,
      person: `select m.xid, m.id::text as id, m.id as k1, m.thread_id::text as k2, false as gone from troupe.sessions s join troupe.messages m on m.thread_id = s.thread_id
          where s.project_id = $1 and s.entity_id = $2 and m.xid >= $3 and ${chat('s.id')}
        union all select greatest(m.xid, x.joined_xid), m.id::text, m.id, m.thread_id::text, false from mine x join troupe.messages m on m.thread_id = x.space_id
          where m.xid >= $3 or x.joined_xid >= $3`,
    },
    document: 'null',
    joined: { before: MESSAGE_PLACES, tables: MESSAGE_TABLES, columns: MESSAGE_COLUMNS },
    scan: {
      project:
        messagesOf(`select t.id, -1 as joined from troupe.threads t where t.project_id = $1 and t.kind in ('session', 'space') and t.id >= ${THREAD}
        and ($6::uuid is null or t.id = $6 or t.id = (select s.thread_id from troupe.sessions s where s.id = $6))`),
      person:
        messagesOf(`select s.thread_id as id, -1 as joined from troupe.sessions s where s.project_id = $1 and s.entity_id = $2 and s.thread_id >= ${THREAD} and ${chat('s.id')}
        union all select x.space_id, x.joined_xid from mine x where x.space_id >= ${THREAD}`),
      order: 'p.k2 collate "C", x.seq',
    },
  },
  spaces: {
    candidates: {
      project: owned('spaces', 's', '', 's.id').project,
      person: `select greatest(s.xid, x.joined_xid) as xid, s.id::text as id, s.id as k1, null::text as k2, false as gone from mine x join troupe.spaces s on s.id = x.space_id`,
    },
    document: '(select troupe.space_document(x) from troupe.spaces x where x.id = p.k1)',
  },
  memberships: {
    candidates: {
      project: `select m.xid, m.space_id || ':' || m.entity_id as id, m.space_id as k1, m.entity_id::text as k2, false as gone
        from troupe.spaces s join troupe.memberships m on m.space_id = s.id where s.project_id = $1 and m.xid >= $3 and ${chat('s.id')}`,
      person: `select greatest(m.xid, x.joined_xid) as xid, m.space_id || ':' || m.entity_id as id, m.space_id as k1, m.entity_id::text as k2, false as gone
        from mine x join troupe.memberships m on m.space_id = x.space_id`,
    },
    document:
      '(select troupe.membership_document(x) from troupe.memberships x where x.space_id = p.k1 and x.entity_id = p.k2::uuid)',
  },
  runs: {
    candidates: {
      project: `select r.xid, r.id::text as id, r.id as k1, null::text as k2, false as gone from troupe.runs r where r.project_id = $1 and r.xid >= $3
        and ($6::uuid is null or r.space_id = $6 or r.thread_id = (select s.thread_id from troupe.sessions s where s.id = $6))`,
      person: `select r.xid, r.id::text as id, r.id as k1, null::text as k2, false as gone from troupe.sessions s join troupe.runs r on r.thread_id = s.thread_id
          where s.project_id = $1 and s.entity_id = $2 and r.xid >= $3 and ${chat('s.id')}
        union all select greatest(r.xid, x.joined_xid), r.id::text, r.id, 'seen', false from mine x join troupe.runs r on r.space_id = x.space_id and r.door = 'space'
          where r.xid >= $3 or x.joined_xid >= $3`,
    },
    // What a run in a space thinks is the agent's, and where else it is, of those who are there.
    document: `(select case when p.k2 = 'seen' then troupe.run_document(x) - 'outcome' - 'activeSpaceId' else troupe.run_document(x) end from troupe.runs x where x.id = p.k1)`,
  },
};

const gone = (collection: string): Sources => ({
  project: `select x.xid, x.id, null::uuid as k1, null::text as k2, true as gone from troupe.tombstones x
    where x.project_id = $1 and x.collection = '${collection}' and x.xid >= $3 and ($6::uuid is null or x.chat_id = $6 or x.place_id = $6)`,
  person: `select x.xid, x.id, null::uuid as k1, null::text as k2, true as gone from troupe.tombstones x
    where x.entity_id = $2 and x.project_id = $1 and x.collection = '${collection}' and x.xid >= $3 and ${chat('x.chat_id')}`,
});

// Deleted while somebody was there, or after that: they may still have it, however often it was changed in between.
const goneInLeft = (collection: string) => `select greatest(x.xid, d.xid), x.id, null::uuid, null::text, true
  from departed d join troupe.tombstones x on x.place_id = d.space_id and x.collection = '${collection}' and (x.was <= d.xid or x.born_at <= d.gone_at) and x.project_id = $1
    and (x.xid >= $3 or d.xid >= $3)`;

export const GONE: Record<Collection, Sources> = {
  tasks: gone('tasks'),
  sub_agents: gone('sub_agents'),
  sub_agent_messages: gone('sub_agent_messages'),
  sub_agent_tool_calls: gone('sub_agent_tool_calls'),
  sessions: gone('sessions'),
  messages: {
    project: gone('messages').project,
    person: `${gone('messages').person}
      union all select d.xid, m.id::text, null, null, true from departed d join troupe.messages m on m.thread_id = d.space_id and (m.xid <= d.xid or m.created_at <= d.gone_at) where d.xid >= $3
      union all ${goneInLeft('messages')}`,
  },
  spaces: {
    project: gone('spaces').project,
    person: `select d.xid, d.space_id::text as id, null::uuid as k1, null::text as k2, true as gone from departed d`,
  },
  memberships: {
    project: `${gone('memberships').project} and not exists (select from troupe.memberships m where m.space_id = x.place_id and m.entity_id = x.entity_id)`,
    person: `select greatest(x.xid, i.joined_xid) as xid, x.id, null::uuid as k1, null::text as k2, true as gone
        from mine i join troupe.tombstones x on x.place_id = i.space_id and x.collection = 'memberships'
        where not exists (select from troupe.memberships m where m.space_id = x.place_id and m.entity_id = x.entity_id)
          and (x.xid >= i.joined_xid or exists (select from troupe.tombstones o where o.place_id = i.space_id and o.collection = 'memberships' and o.entity_id = $2
            and (x.was <= o.xid or x.born_at <= o.gone_at)))
      union all select d.xid, m.space_id || ':' || m.entity_id, null, null, true from departed d join troupe.memberships m on m.space_id = d.space_id and m.joined_xid <= d.xid
      union all ${goneInLeft('memberships')}`,
  },
  runs: {
    project: gone('runs').project,
    person: `${gone('runs').person}
      union all select d.xid, r.id::text, null, null, true from departed d join troupe.runs r on r.space_id = d.space_id and (r.xid <= d.xid or r.created_at <= d.gone_at) where d.xid >= $3
      union all ${goneInLeft('runs')}`,
  },
};
