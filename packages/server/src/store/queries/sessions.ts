import type { BusyPolicy, JsonObject, SessionStatus } from '@troupe/protocol';
import type { Database, Statement } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { Author } from './author.ts';
import { deleteThreads } from './delete-threads.ts';
import { MESSAGE, type MessageRow, SENDER } from './messages.ts';
import { type Standing, standing } from './models.ts';
import { SESSION } from './session-columns.ts';

/** A session, with what the runs of its thread say about it. */
export interface SessionRow {
  id: string;
  agentId: string;
  entityId: string;
  threadId: string;
  title: string | null;
  tags: string[];
  modelId: string | null;
  policy: BusyPolicy;
  metadata: JsonObject;
  createdAt: Date;
  updatedAt: Date;
  expiresAt: Date | null;
  /** Of the last event, else of the session. */
  lastActivityAt: Date;
  /** Of the run that left it failed. */
  error: { code: string; message: string; runId: string } | null;
  status: SessionStatus;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** How the first message begins. */
  firstText: string | null;
}

/** Whose sessions are meant: those of the project, or of one person in it. */
export interface SessionScope {
  project: string;
  entityId: string | null;
}

const WITHIN = `s.project_id = $1 and ($2::uuid is null or s.entity_id = $2)`;

export async function findSession(
  db: Database,
  scope: SessionScope,
  agent: string,
  id: string,
): Promise<SessionRow | null> {
  const rows = await db.run<SessionRow>(
    {
      name: 'find_session',
      text: `${SESSION} where ${WITHIN} and s.agent_id = $3 and s.id = $4`,
      values: [scope.project, scope.entityId, agent, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** What must be known before a message is posted, in one statement. */
export interface ForPost extends SessionRow {
  /** The message, where its id is taken. */
  existing: MessageRow | null;
  /** How its agent stands, with the models that the message and the session name. */
  standing: Standing | null;
}

export async function findSessionForPost(
  db: Database,
  scope: SessionScope,
  agent: string,
  id: string,
  message: { id: string; modelId: string | null },
): Promise<ForPost | null> {
  const rows = await db.run<ForPost & { [column: string]: unknown }>(
    {
      name: 'find_session_for_post',
      text: `with session as (${SESSION} where ${WITHIN} and s.agent_id = $3 and s.id = $4)
        select session.*, (select to_jsonb(found) from (${MESSAGE} where m.id = $5) found) as existing,
          (select to_jsonb(found) from (${standing('array[$6::uuid, session."modelId"]')} where a.project_id = $1 and a.id = $3) found) as standing
        from session`,
      values: [scope.project, scope.entityId, agent, id, message.id, message.modelId],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface NewSession {
  id: string;
  agent: string;
  entity: string;
  thread: string;
  title: string | null;
  tags: string[];
  modelId: string | null;
  policy: BusyPolicy;
  metadata: JsonObject;
  expiresAt?: string | null;
}

/** False where the project has no such agent, active, or no such person. */
export async function createSession(db: Database, project: string, session: NewSession): Promise<boolean> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'create_session',
      text: `with thread as (insert into troupe.threads (id, project_id, kind)
          select $4, $1, 'session' where exists (select from troupe.agents a where a.id = $3 and a.project_id = $1 and a.status = 'active')
            and exists (select from troupe.entities e where e.id = $5 and e.project_id = $1) returning id)
        insert into troupe.sessions (id, project_id, agent_id, thread_id, entity_id, title, tags, model_id, policy, metadata, expires_at)
          select $2, $1, $3, thread.id, $5, $6, $7, $8, $9, $10::jsonb, $11::timestamptz from thread returning id`,
      values: [
        project,
        session.id,
        session.agent,
        session.thread,
        session.entity,
        session.title,
        session.tags,
        session.modelId,
        session.policy,
        toJsonText(session.metadata),
        session.expiresAt ? new Date(session.expiresAt) : null,
      ],
    },
    db.pool,
  );
  return rows.length === 1;
}

type Changeable = Pick<NewSession, 'title' | 'tags' | 'modelId' | 'policy' | 'metadata' | 'expiresAt'>;
export type SessionChanges = { [Field in keyof Changeable]?: Changeable[Field] | null | undefined } & {
  policy?: BusyPolicy | undefined;
};

/** What is not given stays; null clears. `since`: only where no later transaction has changed it. False where nothing was changed. */
export async function updateSession(
  db: Database,
  id: string,
  changes: SessionChanges,
  since?: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db.rows
    .updateTable('sessions')
    .set({
      ...(changes.title !== undefined ? { title: changes.title } : {}),
      ...(changes.tags !== undefined ? { tags: changes.tags ?? [] } : {}),
      ...(changes.modelId !== undefined ? { model_id: changes.modelId } : {}),
      ...(changes.policy !== undefined ? { policy: changes.policy } : {}),
      ...(changes.metadata !== undefined ? { metadata: toJsonText(changes.metadata ?? {}) } : {}),
      ...(changes.expiresAt !== undefined
        ? { expires_at: changes.expiresAt && new Date(changes.expiresAt) }
        : {}),
      updated_at: new Date(),
    })
    .where('id', '=', id)
    .$if(since !== undefined, (update) => update.where('xid', '=', since!))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

// What a copy of a thread begins with beside its messages: the files, the list and the findings, as they are now.
const withFiles = (
  to: string,
) => `files as (insert into troupe.files (thread_id, path, content, type, created_at, updated_at)
          select ${to}, f.path, f.content, f.type, f.created_at, f.updated_at from source s join troupe.files f on f.thread_id = s.thread_id),
        totals as (insert into troupe.file_totals (thread_id, files, bytes)
          select ${to}, f.files, f.bytes from source s join troupe.file_totals f on f.thread_id = s.thread_id),
        todos as (insert into troupe.todo_lists (thread_id, items, updated_at)
          select ${to}, l.items, l.updated_at from source s join troupe.todo_lists l on l.thread_id = s.thread_id),
        findings as (insert into troupe.findings (thread_id, project_id, run_id, call_id, question, claim, source, quote, confidence, created_at)
          select ${to}, f.project_id, f.run_id, f.call_id, f.question, f.claim, f.source, f.quote, f.confidence, f.created_at
          from source s join troupe.findings f on f.thread_id = s.thread_id order by f.seq)`;

/** A session that begins with the messages of another up to one of them, and its files. Messages never change, so nothing is locked. */
export async function forkSession(
  db: Database,
  author: Author,
  source: string,
  message: string,
  target: { id: string; thread: string; title: string | null },
): Promise<boolean> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'fork_session',
      text: `with source as (select s.*, m.seq as upto from troupe.sessions s join troupe.messages m on m.thread_id = s.thread_id where s.id = $1 and m.id = $2),
        thread as (insert into troupe.threads (id, project_id, kind, last_message_seq) select $4, s.project_id, 'session', s.upto from source s),
        copied as (insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata, created_at)
          select $4, m.seq, troupe.new_id(), m.role, m.content, m.tool_call_id, ${SENDER}, m.run_id, m.step, m.metadata, m.created_at
          from source s join troupe.messages m on m.thread_id = s.thread_id and m.seq <= s.upto),
        ${withFiles('$4::uuid')},
        noted as (insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data)
          select s.project_id, $6, $7, 'session.forked', $3::uuid::text, jsonb_build_object('from', s.id, 'messageId', $2::uuid, 'entityId', s.entity_id) from source s)
        insert into troupe.sessions (id, project_id, agent_id, thread_id, entity_id, title, tags, model_id, policy, metadata)
          select $3, s.project_id, s.agent_id, $4, s.entity_id, coalesce($5, s.title), s.tags, s.model_id, s.policy, s.metadata from source s returning id`,
      values: [source, message, target.id, target.thread, target.title, author.kind, author.id],
    },
    db.pool,
  );
  return rows.length === 1;
}

/**
 * A session that begins with the messages of a run's thread up to its end. What the run was asked is noted as answered by
 * it: a fork's was noted under the run that it was made of. It is set up as the session that the run came from. False where the agent is not active, or the run is at work.
 */
export async function continueRun(
  db: Database,
  run: string,
  target: { id: string; thread: string; title: string | null; entity: string; runKey: string },
  author: Pick<Author, 'kind' | 'id'>,
): Promise<boolean> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'continue_run',
      text: `with recursive ${LINE}, source as (select r.*, greatest(coalesce(r.trigger_seq, 0), coalesce((select max(m.seq) from troupe.messages m
            where m.thread_id = r.thread_id and m.run_id = r.id), 0)) as upto
          from troupe.runs r join troupe.agents a on a.id = r.agent_id and a.project_id = r.project_id and a.status = 'active'
          where r.id = $1 and r.status in ('completed', 'failed', 'canceled')),
        thread as (insert into troupe.threads (id, project_id, kind, last_message_seq) select $3, s.project_id, 'session', s.upto from source s),
        copied as (insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, sender_id, run_id, step, metadata, created_at)
          select $3, m.seq, troupe.new_id(), m.role, m.content, m.tool_call_id, ${SENDER}, m.run_id, m.step,
            case when m.seq = s.trigger_seq then coalesce(m.metadata, '{}') || jsonb_build_object($6::text, s.id) else m.metadata end, m.created_at
          from source s join troupe.messages m on m.thread_id = s.thread_id and m.seq <= s.upto),
        ${withFiles('$3::uuid')},
        noted as (insert into troupe.audit_log (project_id, actor_kind, actor_id, action, target, data)
          select s.project_id, $7, $8, 'session.continued', $2::uuid::text, jsonb_build_object('from', s.id, 'entityId', $5::uuid) from source s)
        insert into troupe.sessions (id, project_id, agent_id, thread_id, entity_id, title, tags, model_id, policy, metadata)
          select $2, s.project_id, s.agent_id, $3, $5, coalesce($4, o.title), coalesce(o.tags, '{}'), o.model_id, coalesce(o.policy, 'queue'),
            coalesce(o.metadata, '{}') from source s left join origin o on true returning id`,
      values: [
        run,
        target.id,
        target.thread,
        target.title,
        target.entity,
        target.runKey,
        author.kind,
        author.id,
      ],
    },
    db.pool,
  );
  return rows.length === 1;
}

// The run $1, and those that it was forked from, however often. Only a session's run leads to a session; of a fork, the first that does.
const LINE = `line as (select r.thread_id, r.trigger, r.trigger_type, 0 as back from troupe.runs r where r.id = $1
    union all select r.thread_id, r.trigger, r.trigger_type, l.back + 1 from line l join troupe.runs r on r.id = (l.trigger->>'forkedFrom')::uuid
      where l.trigger_type = 'fork'),
  origin as (select s.* from line l join troupe.sessions s on s.thread_id = l.thread_id order by l.back limit 1)`;

/**
 * Who the session belongs to that a run is of, or that the run is of which it was forked from, however often. Where that was
 * deleted, the one whom the fork noted.
 */
export async function ownerOfRun(db: Database, run: string): Promise<string | null> {
  const rows = await db.run<{ entity: string }>(
    {
      name: 'owner_of_run',
      text: `with recursive ${LINE} select entity_id as entity from origin
        union all select r.owner_id from troupe.runs r where r.id = $1 and r.owner_id <> r.entity_id limit 1`,
      values: [run],
    },
    db.pool,
  );
  return rows[0]?.entity ?? null;
}

export interface UnansweredMessage {
  id: string;
  content: JsonObject;
  threadId: string;
  agentId: string;
  modelId: string | null;
}

/** The last message of a session, if a person wrote it and no run answers it. */
export async function unansweredMessage(
  db: Database,
  project: string,
  message: string,
): Promise<UnansweredMessage | null> {
  const rows = await db.run<UnansweredMessage>(
    {
      name: 'unanswered_message',
      text: `select m.id, m.content, m.thread_id as "threadId", s.agent_id as "agentId", s.model_id as "modelId"
        from troupe.messages m join troupe.sessions s on s.thread_id = m.thread_id
          join troupe.threads t on t.id = m.thread_id and t.last_message_seq = m.seq
        where m.id = $2 and s.project_id = $1 and m.role = 'user' and m.run_id is null and not coalesce(m.metadata ? 'troupe:run', false)
          and not exists (select from troupe.runs r where r.thread_id = m.thread_id and r.trigger_message_id = m.id)`,
      values: [project, message],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** Deletes the session with everything that hangs on it. */
export async function deleteSession(db: Database, author: Author, thread: string): Promise<void> {
  await deleteThreads(db, { threads: [thread], author });
}

/** Null where the project has no such agent. */
export async function agentStatus(
  db: Database,
  project: string,
  agent: string,
): Promise<'active' | 'archived' | null> {
  const statement: Statement = {
    name: 'agent_status',
    text: 'select status from troupe.agents where project_id = $1 and id = $2',
    values: [project, agent],
  };
  const rows = await db.run<{ status: 'active' | 'archived' }>(statement, db.pool);
  return rows[0]?.status ?? null;
}
