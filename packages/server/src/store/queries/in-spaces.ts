import type { ContentPart, EntityType, Json, JsonObject, MessageRole } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { RunFence } from './memories.ts';
import { type Standing, standing } from './models.ts';
import { answerOf } from './spaces.ts';

// Actions of runs and senders in spaces; see functions/spaces/. Rows of spaces and members are in spaces.ts and memberships.ts.

/** What an agent that a message may start runs with. */
export interface StartingAgent {
  entity: string;
  agent: string;
  snapshot: string;
  wallMs: number;
}

export interface SpacePost {
  project: string;
  space: string;
  message: {
    id: string;
    role: 'user' | 'assistant';
    content: Json;
    sender: string;
    metadata: JsonObject;
  };
  /** The call of a run that says it. */
  by?: RunFence & { call: string; step: number };
  mentions: string[];
  starts: boolean;
  agents: StartingAgent[];
  wait?: { for: string[] | null; timeoutMs: number };
}

export interface Recipient {
  entityId: string;
  name: string | null;
  type: EntityType;
}

export type SpacePosted =
  | {
      ok: true;
      duplicate: true;
      seq: number;
      createdAt: string;
      content: Json;
      metadata: JsonObject | null;
      recipients: Recipient[];
      runs: { id: string; entity: string }[];
    }
  | {
      ok: true;
      duplicate: false;
      seq: number;
      createdAt: string;
      runs: { id: string; entity: string; thread: string }[];
      folded: { run: string; entity: string }[];
      replied: { run: string; call: string; entity: string; done: boolean }[];
      /** Runs that go on, since all they waited for has come. */
      resumed: string[];
      refused: { reason: 'chain_depth' | 'agent_runs'; entities: string[]; limit: number } | null;
      spaceName: string | null;
      recipients: Recipient[];
    }
  | {
      ok: false;
      code:
        | 'run_lost'
        | 'space_not_found'
        | 'not_a_member'
        | 'message_id_taken'
        | 'members_changed'
        | 'not_members';
      entities?: string[];
    };

export async function postToSpace(db: Database, post: SpacePost): Promise<SpacePosted> {
  try {
    const rows = await db.run<{ answer: SpacePosted }>({
      name: 'post_to_space',
      text: 'select troupe.post_to_space($1::jsonb) as answer',
      values: [toJsonText(post)],
    });
    return rows[0]!.answer;
  } catch (error) {
    if ((error as { code?: string }).code === 'TR002') return { ok: false, code: 'members_changed' };
    throw error;
  }
}

/** Runs that a message is for which had yet to begin when it came. */
export async function foldedFor(db: Database, message: string): Promise<{ run: string; entity: string }[]> {
  return db.run<{ run: string; entity: string }>(
    {
      name: 'folded_for',
      text: 'select run_id as run, entity_id as entity from troupe.folded_messages where message_id = $1 order by run_id',
      values: [message],
    },
    db.pool,
  );
}

export interface FoldedMessage {
  messageId: string;
  senderName: string | null;
  text: string;
  createdAt: Date;
}

const MOST_FOLDED = 200;
const LONGEST_FOLDED = 4_000;

/** The messages that a run is for beside its trigger, the last ones. */
export async function foldedInto(db: Database, run: string): Promise<FoldedMessage[]> {
  const rows = await db.run<FoldedMessage & { [column: string]: unknown }>(
    {
      name: 'folded_into',
      text: `select m.id as "messageId", coalesce(e.display_name, e.external_id) as "senderName", left(m.content->>'text', ${LONGEST_FOLDED}) as text, m.created_at as "createdAt"
        from troupe.folded_messages f join troupe.messages m on m.id = f.message_id left join troupe.entities e on e.id = m.sender_id
        where f.run_id = $1 order by m.seq desc limit ${MOST_FOLDED}`,
      values: [run],
    },
    db.pool,
  );
  return rows.reverse();
}

export interface AgentStanding extends Standing {
  agentId: string;
}

/** The agents of a space that could be started, in one statement. */
export async function agentsOfSpace(
  db: Database,
  { project, space, except }: { project: string; space: string; except: string },
): Promise<AgentStanding[]> {
  return db.run<AgentStanding & { [column: string]: unknown }>(
    {
      name: 'agents_of_space',
      text: `select s.*, o.agent_id as "agentId" from troupe.memberships n join troupe.entities o on o.id = n.entity_id
          join lateral (${standing(`'{}'::uuid[]`)} where a.project_id = $1 and a.id = o.agent_id and a.status = 'active') s on true
        where n.space_id = $2 and o.id <> $3`,
      values: [project, space, except],
    },
    db.pool,
  );
}

/** A message of a space as an agent finds it. */
export interface FoundMessage {
  id: string;
  seq: number;
  role: MessageRole;
  content: { text: string; tool?: Json };
  /** How many there are beside the text. */
  pictures: number;
  senderId: string | null;
  senderName: string | null;
  senderType: EntityType | null;
  runId: string | null;
  metadata: JsonObject | null;
  createdAt: string;
  seen: boolean;
}

export type Entered =
  | {
      ok: true;
      spaceId: string;
      spaceName: string | null;
      history: FoundMessage[];
      total: number;
      left: string | null;
      members: Recipient[];
    }
  | { ok: false; code: 'run_lost' | 'not_a_member' };

export async function enterSpace(
  db: Database,
  { run, epoch, worker }: RunFence,
  space: string,
  limit: number,
): Promise<Entered> {
  return answerOf(db, 'enter_space', 'troupe.enter_space($1, $2, $3, $4, $5)', [
    run,
    epoch,
    worker,
    space,
    limit,
  ]);
}

export type ReadSpace =
  | { ok: true; spaceId: string; history: FoundMessage[]; total: number }
  | { ok: false; code: 'run_lost' | 'not_a_member' };

export async function readSpace(
  db: Database,
  { run, epoch, worker }: RunFence,
  space: string,
  { limit, offset, search }: { limit: number; offset: number; search: string | null },
): Promise<ReadSpace> {
  return answerOf(db, 'read_space', 'troupe.read_space($1, $2, $3, $4, $5, $6, $7)', [
    run,
    epoch,
    worker,
    space,
    limit,
    offset,
    search,
  ]);
}

/** From which message to which the prompt of a run shows its space; false where the run is another's by now. */
/** What a run is told from this step on, and which messages of the space it shows. */
export async function keepPrompt(
  db: Database,
  { run, epoch, worker }: RunFence,
  {
    step,
    system,
    space,
    shown,
  }: { step: number; system: string; space: string | null; shown: { from: number; upto: number } | null },
): Promise<boolean> {
  return answerOf(db, 'keep_prompt', 'troupe.keep_prompt($1, $2, $3, $4, $5, $6, $7, $8)', [
    ...[run, epoch, worker, step, system, space],
    ...[shown?.from ?? null, shown?.upto ?? null],
  ]);
}

export type Stopped =
  | { ok: true; worker: string | null; thread: string; spaces: (string | null)[] }
  | {
      ok: false;
      code: 'cannot_stop_itself' | 'run_lost' | 'run_not_found' | 'not_your_run' | 'run_ended';
      status?: string;
      reason?: string | null;
    };

export async function stopRun(
  db: Database,
  target: string,
  { run, epoch, worker }: RunFence,
): Promise<Stopped> {
  return answerOf(db, 'stop_run', 'troupe.stop_run($1, $2, $3, $4)', [target, run, epoch, worker]);
}

/** Where a call of a run takes effect; null: nowhere. */
export async function spaceOfCall(db: Database, run: string, call: string): Promise<string | null> {
  return answerOf(db, 'space_of_call', 'troupe.space_of_call($1, $2)', [run, call]);
}

/** A run of an agent in a space, with what it has done so far. */
export interface RunSeen {
  id: string;
  status: string;
  triggerType: string;
  trigger: JsonObject;
  spaceId: string | null;
  activeSpaceId: string | null;
  activeSpaceName: string | null;
  createdAt: string;
  startedAt: string | null;
  completedAt: string | null;
  calls: { tool: string; status: string; args: Json }[];
  said: { spaceId: string; spaceName: string | null; messageId: string; text: string }[];
}

const RUN_SEEN = `select r.id, r.status, r.trigger_type as "triggerType", r.trigger, r.space_id as "spaceId", r.active_space_id as "activeSpaceId",
    (select s.name from troupe.spaces s where s.id = r.active_space_id) as "activeSpaceName", r.created_at as "createdAt", r.started_at as "startedAt",
    coalesce(r.completed_at, r.canceled_at) as "completedAt",
    (select coalesce(jsonb_agg(jsonb_build_object('tool', c.tool, 'status', c.status, 'args', c.args) order by c.step, c.position), '[]') from (
      select * from troupe.tool_calls c where c.run_id = r.id order by c.step desc, c.position desc limit 30) c) as calls,
    (select coalesce(jsonb_agg(jsonb_build_object('spaceId', m.thread_id, 'spaceName', s.name, 'messageId', m.id, 'text', left(m.content->>'text', 200)) order by c.step, c.position), '[]')
      from (select * from troupe.tool_calls c where c.run_id = r.id and c.tool = 'send_message' order by c.step desc, c.position desc limit 20) c
        join troupe.messages m on m.id = troupe.id_from(c.run_id || ':' || c.call_id) join troupe.spaces s on s.id = m.thread_id) as said
  from troupe.runs r`;

/** The predicate of the index of live runs. */
const LIVE = `and y.status in ('queued', 'running', 'waiting_tool', 'waiting_reply')`;
/** A filter by status reads at most this many runs of an agent. */
const MAX_READ = 2_000;

/** Runs of the same agent, newest first. `status` null: all; `live`: runs that have not ended. */
export async function runsOfAgent(
  db: Database,
  {
    project,
    entity,
    status,
    limit,
  }: { project: string; entity: string; status: string | null; limit: number },
): Promise<RunSeen[]> {
  const isLive = status === 'live';
  return db.run<RunSeen & { [column: string]: unknown }>(
    {
      name: isLive ? 'live_runs_of_agent' : 'runs_of_agent',
      text: `${RUN_SEEN} where r.id in (select x.id from (select y.id, y.status, y.project_id from troupe.runs y
            where y.entity_id = $2 and y.door = 'space' ${isLive ? LIVE : ''} order by y.id desc limit ${MAX_READ}) x
          where x.project_id = $1 and ($3::text is null or x.status::text = $3) order by x.id desc limit $4)
        order by r.id desc`,
      values: [project, entity, isLive ? null : status, limit],
    },
    db.pool,
  );
}

export interface RunContext {
  entity: { id: string; name: string | null };
  /** Where it began; null for a plan or a service, or where the space is gone or it is no longer a member. */
  space: { id: string; name: string | null; description: string | null } | null;
  history: FoundMessage[];
  total: number;
  /** What the message that began it has beside its text; null: nothing. */
  triggerParts: ContentPart[] | null;
  /** Where the history of its prompt ended, if somebody made it before. */
  promptUpto: number | null;
  spaces: {
    id: string;
    name: string | null;
    memberCount: number;
    members: { id: string; name: string | null; type: EntityType }[];
  }[];
  spaceCount: number;
}

const MOST_SPACES = 50;
const MOST_MEMBERS = 50;
/** An agent can be a member of any number of spaces; counting stops here. */
const MAX_COUNTED = 1_000;

/** What a run is told of its surroundings, in one statement. */
export async function contextOfRun(
  db: Database,
  run: string,
  historyLength: number,
): Promise<RunContext | null> {
  const rows = await db.run<RunContext & { [column: string]: unknown }>(
    {
      name: 'context_of_run',
      text: `select jsonb_build_object('id', e.id, 'name', e.display_name) as entity,
          case when s.id is not null then jsonb_build_object('id', s.id, 'name', s.name, 'description', s.description) end as space,
          case when s.id is not null then troupe.space_history(s.id, e.id, coalesce(x.prompt_upto, t.last_message_seq), $2, 1000000) else '[]' end as history,
          (select m.content->'parts' from troupe.messages m where m.id = r.trigger_message_id) as "triggerParts", coalesce(t.last_message_seq, 0) as total, x.prompt_upto as "promptUpto",
          (select coalesce(jsonb_agg(jsonb_build_object('id', o.id, 'name', o.name, 'memberCount', (select count(*) from troupe.memberships c where c.space_id = o.id),
              'members', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', coalesce(p.display_name, p.external_id), 'type', p.type) order by p.joined_at, p.id), '[]')
                from (select q.*, n.joined_at from troupe.memberships n join troupe.entities q on q.id = n.entity_id where n.space_id = o.id order by n.joined_at, q.id limit ${MOST_MEMBERS}) p))
              order by o.id = r.space_id desc nulls last, o.id), '[]')
            from (select z.* from (
                (select n.space_id from troupe.memberships n where n.entity_id = r.entity_id and n.space_id = r.space_id)
                union (select n.space_id from troupe.memberships n where n.entity_id = r.entity_id order by n.joined_at desc limit ${MOST_SPACES})) k
              join troupe.spaces z on z.id = k.space_id order by z.id = r.space_id desc nulls last, z.id limit ${MOST_SPACES}) o) as spaces,
          (select count(*) from (select from troupe.memberships n where n.entity_id = r.entity_id limit ${MAX_COUNTED}) c) as "spaceCount"
        from troupe.runs r join troupe.entities e on e.id = r.entity_id
          left join troupe.memberships m on m.space_id = r.space_id and m.entity_id = r.entity_id
          left join troupe.spaces s on s.id = m.space_id
          left join troupe.threads t on t.id = s.id
          left join troupe.run_shown x on x.run_id = r.id and x.space_id = s.id
        where r.id = $1`,
      values: [run, historyLength],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** Why a run says something: what began it and what it did before this call. */
export interface SayingRun {
  triggerType: string;
  trigger: JsonObject;
  /** In order, this call included. */
  calls: SayingCall[];
  spaceId: string | null;
  /** The space of the run and those it entered, without those that the agent has left. */
  spaces: { id: string; name: string | null }[];
}

export interface SayingCall {
  id: string;
  step: number;
  tool: string;
  args: Json;
  status: string;
  /** Whether it completed with `success: true`. */
  wentWell: boolean;
}

export async function sayingRun(db: Database, run: string, call: string): Promise<SayingRun | null> {
  const rows = await db.run<SayingRun & { [column: string]: unknown }>(
    {
      name: 'saying_run',
      text: `select r.trigger_type as "triggerType", r.trigger, r.space_id as "spaceId",
          (select coalesce(jsonb_agg(jsonb_build_object('id', c.call_id, 'step', c.step, 'tool', c.tool, 'args', c.args, 'status', c.status,
              'wentWell', c.status = 'completed' and c.output @> '{"success": true}') order by c.step, c.position), '[]')
            from troupe.tool_calls c join troupe.tool_calls own on own.run_id = r.id and own.call_id = $2
            where c.run_id = r.id and (c.step, c.position) <= (own.step, own.position)) as calls,
          (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name)), '[]') from troupe.spaces s
              join troupe.memberships m on m.space_id = s.id and m.entity_id = r.entity_id
            where s.id = any(array(select r.space_id union all select (c.args->>'spaceId')::uuid from troupe.tool_calls c
              where c.run_id = r.id and c.tool = 'enter_space' and c.args->>'spaceId' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'))) as spaces
        from troupe.runs r where r.id = $1`,
      values: [run, call],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The spaces that the agent of a run is in, at most 50. */
export async function spacesOfRun(db: Database, run: string): Promise<{ id: string; name: string | null }[]> {
  return db.run<{ id: string; name: string | null }>(
    {
      name: 'spaces_of_run',
      text: `select s.id, s.name from troupe.runs r join troupe.memberships m on m.entity_id = r.entity_id
          join troupe.spaces s on s.id = m.space_id where r.id = $1 order by m.joined_at desc, s.id limit ${MOST_SPACES}`,
      values: [run],
    },
    db.pool,
  );
}

// ---- what was said, for people

export interface SpaceMessageRow {
  id: string;
  spaceId: string;
  sequence: number;
  role: 'user' | 'assistant' | 'tool_call' | 'system';
  senderId: string | null;
  senderName: string | null;
  senderType: EntityType | null;
  content: JsonObject;
  runId: string | null;
  metadata: JsonObject | null;
  createdAt: Date;
}

const SPACE_MESSAGE = `select m.id, m.thread_id as "spaceId", m.seq as sequence, m.role, m.sender_id as "senderId", coalesce(e.display_name, e.external_id) as "senderName",
    e.type as "senderType", m.content, m.run_id as "runId", m.metadata, m.created_at as "createdAt"
  from troupe.messages m left join troupe.entities e on e.id = m.sender_id`;

export interface SpaceMessageRange {
  after?: number | undefined;
  before?: number | undefined;
  search?: string | undefined;
  limit: number;
}

/** In their order: the first ones after `after`, otherwise the last ones, before `before` where it is given. */
export async function listSpaceMessages(
  db: Database,
  space: string,
  { after, before, search, limit }: SpaceMessageRange,
): Promise<SpaceMessageRow[]> {
  const backwards = after === undefined;
  const rows = await db.run<SpaceMessageRow & { [column: string]: unknown }>(
    {
      name: backwards ? 'list_space_messages_backwards' : 'list_space_messages',
      text: `${SPACE_MESSAGE} where m.thread_id = $1 and m.seq > $2 and ($3::bigint is null or m.seq < $3)
          and ($4::text is null or position(lower($4) in lower(m.content->>'text')) > 0)
        order by m.seq ${backwards ? 'desc' : 'asc'} limit $5`,
      values: [space, after ?? 0, before ?? null, search ?? null, limit],
    },
    db.pool,
  );
  return backwards ? rows.reverse() : rows;
}

export async function findSpaceMessage(
  db: Database,
  space: string,
  id: string,
): Promise<SpaceMessageRow | null> {
  const rows = await db.run<SpaceMessageRow & { [column: string]: unknown }>(
    {
      name: 'find_space_message',
      text: `${SPACE_MESSAGE} where m.thread_id = $1 and m.id = $2`,
      values: [space, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** Whether there is such a space for whoever asks: a person must be a member. Its last sequences. */
export async function reachSpace(
  db: Database,
  { project, entityId }: { project: string; entityId: string | null },
  space: string,
): Promise<{ lastMessage: number; lastEvent: number } | null> {
  const rows = await db.run<{ lastMessage: number; lastEvent: number }>(
    {
      name: 'reach_space',
      text: `select t.last_message_seq as "lastMessage", t.last_event_seq as "lastEvent" from troupe.spaces s join troupe.threads t on t.id = s.id
        where s.project_id = $1 and s.id = $3 and ($2::uuid is null or exists (select from troupe.memberships m where m.space_id = s.id and m.entity_id = $2))`,
      values: [project, entityId, space],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** Those of the ids that are entities of the project. */
export async function knownEntities(db: Database, project: string, ids: string[]): Promise<Set<string>> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'known_entities',
      text: 'select id from troupe.entities where project_id = $1 and id = any($2::uuid[])',
      values: [project, ids],
    },
    db.pool,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Somebody of the project, by id or by the name that the application has for them. */
export async function findSpeaker(
  db: Database,
  project: string,
  by: { id: string } | { externalId: string },
): Promise<{ id: string; type: EntityType } | null> {
  const rows = await db.run<{ id: string; type: EntityType }>(
    {
      name: 'find_speaker',
      text: 'select id, type from troupe.entities where project_id = $1 and (id = $2 or external_id = $3)',
      values: [project, 'id' in by ? by.id : null, 'externalId' in by ? by.externalId : null],
    },
    db.pool,
  );
  return rows[0] ?? null;
}
