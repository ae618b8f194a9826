import type { JsonObject, MemberRole, Ordering, SpacePolicy } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { Author } from './author.ts';

/** Whose spaces are meant: those of the project, or those that one person is in. */
export interface SpaceScope {
  project: string;
  entityId: string | null;
}

export interface SpaceRow {
  id: string;
  name: string | null;
  description: string | null;
  policy: SpacePolicy;
  limits: { chainDepth: number; agentRuns: number };
  metadata: JsonObject;
  memberCount: number;
  lastSequence: number;
  /** Of the last event, else of the space. */
  lastActivityAt: Date;
  /** Of the person who asks. */
  membership: { role: MemberRole; lastSeenMessageId: string | null; unread: number } | null;
  createdAt: Date;
  updatedAt: Date;
}

// What somebody says moves their own marker, so that nothing behind it is theirs and what is unread need not be looked through. What was
// said before they joined counts as read.
const spaceOf = ({
  entityId,
}: SpaceScope) => `select s.id, s.name, s.description, s.policy, jsonb_build_object('chainDepth', s.chain_depth, 'agentRuns', s.agent_runs) as limits, s.metadata,
    (select count(*) from troupe.memberships c where c.space_id = s.id) as "memberCount", t.last_message_seq as "lastSequence",
    greatest(s.created_at, (select v.created_at from troupe.event_batches v where v.thread_id = s.id and v.last_seq = t.last_event_seq)) as "lastActivityAt",
    case when m.entity_id is not null then jsonb_build_object('role', m.role, 'lastSeenMessageId', m.last_seen_message_id,
      'unread', t.last_message_seq - greatest(m.last_seen_seq, m.joined_seq)) end as membership,
    s.created_at as "createdAt", s.updated_at as "updatedAt"
  from troupe.spaces s join troupe.threads t on t.id = s.id ${entityId === null ? 'left join' : 'join'} troupe.memberships m on m.space_id = s.id and m.entity_id = $2::uuid
  where s.project_id = $1`;

// A person's spaces are found by their memberships, however many the project has; so these are other statements.
const by = ({ entityId }: SpaceScope) => (entityId === null ? '' : '_of_person');

export async function findSpace(db: Database, scope: SpaceScope, id: string): Promise<SpaceRow | null> {
  const rows = await db.run<SpaceRow & Record<string, unknown>>(
    {
      name: `find_space${by(scope)}`,
      text: `${spaceOf(scope)} and s.id = $3`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The newest first. `member`: those that it is in. */
export async function listSpaces(
  db: Database,
  scope: SpaceScope,
  { member, before, limit }: { member?: string | undefined; before: string | undefined; limit: number },
): Promise<SpaceRow[]> {
  return db.run<SpaceRow & Record<string, unknown>>(
    {
      name: `list_spaces${by(scope)}${member === undefined ? '' : '_with'}`,
      text: `${spaceOf(scope)} and ${member === undefined ? '$3::uuid is null' : 's.id in (select o.space_id from troupe.memberships o where o.entity_id = $3)'}
          and ($4::uuid is null or s.id < $4) order by s.id desc limit $5`,
      values: [scope.project, scope.entityId, member ?? null, before ?? null, limit],
    },
    db.pool,
  );
}

/** One of the three says who. */
export interface MemberWrite {
  entityId?: string | undefined;
  agentId?: string | undefined;
  user?: string | undefined;
  role: MemberRole;
  ordering: Ordering;
}

export interface SpaceWrite {
  id: string;
  name: string | null;
  description: string | null;
  policy: SpacePolicy;
  limits: { chainDepth: number; agentRuns: number };
  metadata: JsonObject;
  members: readonly MemberWrite[];
}

/** `member`: the index of the one that is not there. */
export type SpaceCreated =
  | { ok: true }
  | { ok: false; code: 'entity_not_found' | 'agent_not_found'; member: number };

export async function createSpace(
  db: Database,
  project: string,
  { limits, ...space }: SpaceWrite,
): Promise<SpaceCreated> {
  const item = toJsonText({ ...space, ...limits, project });
  return answerOf(db, 'create_space', 'troupe.create_space($1::jsonb)', [item]);
}

export interface SpaceChanges {
  name?: string | null | undefined;
  description?: string | null | undefined;
  policy?: SpacePolicy | undefined;
  limits?: { chainDepth?: number | undefined; agentRuns?: number | undefined } | undefined;
  metadata?: JsonObject | null | undefined;
}

export type SpaceChanged =
  | { ok: true; changed: boolean }
  | { ok: false; code: 'space_not_found' | 'not_an_admin' };

/** What is not given stays; null clears. */
export async function updateSpace(
  db: Database,
  { project, entityId }: SpaceScope,
  id: string,
  { limits, metadata, ...changes }: SpaceChanges,
): Promise<SpaceChanged> {
  // By the names of the columns; what is undefined is not written.
  const columns = toJsonText({
    ...changes,
    chain_depth: limits?.chainDepth,
    agent_runs: limits?.agentRuns,
    metadata: metadata === null ? {} : metadata,
  });
  return answerOf(db, 'update_space', 'troupe.update_space($1, $2, $3, $4::jsonb)', [
    project,
    id,
    entityId,
    columns,
  ]);
}

/** Runs that began or speak there and have not ended. */
export async function openRunsOfSpace(db: Database, space: string): Promise<string[]> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'open_runs_of_space',
      text: `select r.id from troupe.runs r where (r.space_id = $1 or r.active_space_id = $1)
        and r.status in ('queued', 'running', 'waiting_tool', 'waiting_reply') order by r.id`,
      values: [space],
    },
    db.pool,
  );
  return rows.map(({ id }) => id);
}

export type SpaceDeleted =
  | { ok: true }
  | { ok: false; code: 'space_not_found' }
  | { ok: false; code: 'runs_live'; runs: string[] };

/** With all that was said there, as one. Refused while a run that began or speaks there has not ended. */
export async function deleteSpace(db: Database, author: Author, id: string): Promise<SpaceDeleted> {
  return answerOf(db, 'delete_space', 'troupe.delete_space($1, $2, $3, $4)', [
    author.project,
    id,
    author.kind,
    author.id,
  ]);
}

/** What a function of the database says. */
export async function answerOf<Answer>(
  db: Database,
  name: string,
  call: string,
  values: unknown[],
): Promise<Answer> {
  const rows = await db.run<{ answer: Answer }>({ name, text: `select ${call} as answer`, values }, db.pool);
  return rows[0]!.answer;
}
