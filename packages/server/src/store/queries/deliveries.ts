import type { ChangeEvent, DeliveryStatus, JsonObject } from '@troupe/protocol';
import { once } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';
import type { TriggerDefinition } from './triggers.ts';

// From a change to its deliveries and their outcome; see functions/triggers/.

export interface ChangeRow {
  id: number;
  project: string;
  collection: string;
  path: string;
  documentId: string;
  userId: string | null;
  event: ChangeEvent;
  before: JsonObject | null;
  after: JsonObject | null;
  depth: number;
  rules: { id: string; version: number }[];
  createdAt: Date;
}

/** What is to be judged, oldest first. Nobody is kept from looking too: whoever deletes a change decides. */
export async function openChanges(db: Database, limit: number): Promise<ChangeRow[]> {
  return db.run<ChangeRow>(
    {
      name: 'open_changes',
      text: `select id, project_id as project, collection, path, document_id as "documentId", user_id as "userId", event, before, after, depth, rules,
          created_at as "createdAt" from troupe.changes order by id limit $1`,
      values: [limit],
    },
    db.pool,
  );
}

/** The rules as they were with these versions; those of a rule that was deleted are missing. */
export async function triggerVersions(
  db: Database,
  wanted: readonly { id: string; version: number }[],
): Promise<{ id: string; version: number; name: string; definition: TriggerDefinition }[]> {
  return db.run(
    {
      name: 'trigger_versions',
      text: `select t.id, t.name, v.version, v.definition from unnest($1::uuid[], $2::int[]) w (id, version)
        join troupe.trigger_versions v on v.trigger_id = w.id and v.version = w.version join troupe.triggers t on t.id = w.id`,
      values: [wanted.map(({ id }) => id), wanted.map(({ version }) => version)],
    },
    db.pool,
  );
}

export interface NewDelivery {
  id: string;
  change: number;
  trigger: string;
  version: number;
  /** To an address of this server. */
  own: boolean;
  /** It is not to be made, and says so. */
  error?: { code: string; message: string };
}

export interface Judged {
  changes: number[];
  deliveries: NewDelivery[];
  /** Conditions that could not be evaluated. */
  errors: { trigger: string; version: number; message: string; path: string }[];
}

/** Changes become deliveries and are gone, as one. What another process has, or had, makes none. The number of deliveries that there are now. */
export async function judgeChanges(db: Database, { changes, deliveries, errors }: Judged): Promise<number> {
  const [row] = await db.run<{ made: number }>(
    {
      name: 'judge_changes',
      text: `with taken as (
          select c.id from troupe.changes c where c.id = any ($1::bigint[]) order by c.id for update skip locked),
        gone as (delete from troupe.changes c using taken where c.id = taken.id returning c.*),
        noted as (
          update troupe.triggers t set condition_error = jsonb_build_object('message', e.message, 'path', e.path, 'at', to_jsonb(now()))
          from jsonb_to_recordset($3::jsonb) e (trigger uuid, version int, message text, path text)
          where t.id = e.trigger and t.version = e.version and t.condition_error->>'message' is distinct from e.message),
        -- What was deleted since is told, and then forgotten.
        known as (select g.*, exists (select from troupe.tombstones x where x.collection in ('sessions', 'spaces') and x.id = g.chat_id::text) as erased from gone g),
        wanted as (select d.*, c.erased from jsonb_to_recordset($2::jsonb) d (id uuid, change bigint, trigger uuid, version int, own boolean, error jsonb)
          join known c on c.id = d.change join troupe.triggers t on t.id = d.trigger),
        stored as (
          insert into troupe.change_documents (change_id, before, after) select c.id, c.before, c.after from known c
          where exists (select from wanted w where w.change = c.id and (w.error is null or not c.erased)) on conflict do nothing),
        made as (
          insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, user_id, chat_id, erased,
            depth, own, changed_at, status, next_attempt_at, error, ended_at)
          select d.id, c.project_id, d.trigger, d.version, d.version, c.id, c.event, c.path, c.document_id, c.user_id, c.chat_id, c.erased,
            c.depth, d.own, c.created_at, case when d.error is null then 'pending' else 'dead' end, case when d.error is null then now() end, d.error,
            case when d.error is not null then now() end
          from wanted d join known c on c.id = d.change
          on conflict do nothing returning 1)
        select count(*) as made from made`,
      values: [changes, toJsonText(deliveries), toJsonText(errors)],
    },
    db.pool,
  );
  return row!.made;
}

export interface ClaimedDelivery {
  id: string;
  project_id: string;
  trigger_id: string;
  version: number;
  action_version: number;
  change_id: number;
  event: ChangeEvent;
  path: string;
  document_id: string;
  user_id: string | null;
  before: JsonObject | null;
  after: JsonObject | null;
  depth: number;
  own: boolean;
  attempts: number;
  attempts_before: number;
  changed_at: Date;
}

export async function claimDeliveries(
  db: Database,
  { limit, own, others, busy }: { limit: number; own: boolean; others: boolean; busy: readonly string[] },
): Promise<ClaimedDelivery[]> {
  return db.run<ClaimedDelivery>(
    {
      name: 'claim_deliveries',
      text: 'select * from troupe.claim_deliveries($1, $2, $3, $4::uuid[])',
      values: [limit, own, others, busy],
    },
    db.pool,
  );
}

export interface AttemptOutcome {
  status: 'delivered' | 'pending' | 'dead';
  durationMs: number;
  /** Until the next one. */
  delayMs?: number;
  /** It was no attempt: another process is to make it. */
  putOff?: true;
  /** The receiver is gone for good. */
  gone?: true;
  request?: JsonObject | null;
  response?: JsonObject | null;
  result?: JsonObject | null;
  error?: { code: string; message: string } | null;
}

/** False where somebody else has it by now. */
export async function endAttempt(
  db: Database,
  { id, attempts }: { id: string; attempts: number },
  outcome: AttemptOutcome,
  mostDead: number,
): Promise<{ ok: boolean; disabled?: string }> {
  const [row] = await db.run<{ answer: { ok: boolean; disabled?: string } }>(
    {
      name: 'end_attempt',
      text: 'select troupe.end_attempt($1, $2, $3::jsonb, $4) as answer',
      values: [id, attempts, toJsonText(outcome), mostDead],
    },
    db.pool,
  );
  return row!.answer;
}

/** Whether there are rules at all, and anything to judge, or to deliver now. */
export async function triggerWork(db: Database): Promise<{ rules: boolean; changes: boolean; due: boolean }> {
  const [row] = await db.run<{ rules: boolean; changes: boolean; due: boolean }>(
    {
      name: 'trigger_work',
      text: `select exists (select from troupe.triggers t where t.enabled) as rules, exists (select from troupe.changes) as changes, exists (select from troupe.trigger_deliveries d where d.status = 'pending' and d.next_attempt_at <= now())
        or exists (select from troupe.trigger_deliveries d where d.status = 'sending' and d.lease_until <= now()) as due`,
      values: [],
    },
    db.pool,
  );
  return row!;
}

// ---- where messages go

export interface Chat {
  kind: 'session' | 'space';
  /** Of a session: the agent, and whose it is. */
  agentId: string | null;
  entityId: string | null;
}

export async function findChat(db: Database, project: string, id: string): Promise<Chat | null> {
  const rows = await db.run<Chat>(
    {
      name: 'find_chat_to_tell',
      text: `select 'session' as kind, s.agent_id as "agentId", s.entity_id as "entityId" from troupe.sessions s where s.id = $2 and s.project_id = $1
        union all select 'space', null, null from troupe.spaces s where s.id = $2 and s.project_id = $1`,
      values: [project, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** An active agent, by id or name. */
export async function findAgentNamed(db: Database, project: string, ref: string): Promise<string | null> {
  const rows = await db.run<{ id: string }>(
    {
      name: 'find_agent_named',
      text: `select a.id from troupe.agents a where a.project_id = $1 and (a.id::text = lower($2) or troupe.folded(a.name) = troupe.folded($2))
        order by a.id::text = lower($2) desc limit 1`,
      values: [project, ref],
    },
    db.pool,
  );
  return rows[0]?.id ?? null;
}

// ---- for people

export interface DeliveryRow {
  id: string;
  triggerId: string;
  trigger: string;
  version: number;
  event: ChangeEvent;
  path: string;
  documentId: string;
  userId: string | null;
  depth: number;
  status: DeliveryStatus;
  attempts: number;
  erased: boolean;
  nextAttemptAt: Date | null;
  error: { code: string; message: string } | null;
  result: JsonObject | null;
  createdAt: Date;
  endedAt: Date | null;
}

const SHOWN = once(
  () => sql`d.id, d.trigger_id as "triggerId", t.name as trigger, d.version, d.event, d.path, d.document_id as "documentId", d.user_id as "userId", d.depth,
  d.status, d.attempts, d.erased, d.next_attempt_at as "nextAttemptAt", d.error, d.result, d.created_at as "createdAt", d.ended_at as "endedAt"`,
);

export interface DeliveriesAsked {
  trigger?: string | undefined;
  status?: DeliveryStatus | undefined;
  document?: string | undefined;
}

const asked = ({ trigger, status, document }: DeliveriesAsked) => sql`
  ${trigger === undefined ? sql`` : sql`and d.trigger_id = ${trigger}`}
  ${status === undefined ? sql`` : sql`and d.status = ${status}`}
  ${document === undefined ? sql`` : document.includes('/') ? sql`and d.path = ${document}` : sql`and d.document_id = ${document}`}`;

export async function listDeliveries(
  on: Rows,
  project: string,
  filter: DeliveriesAsked,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<DeliveryRow[]> {
  const { rows } =
    await sql<DeliveryRow>`select ${SHOWN()} from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id
    where d.project_id = ${project} ${asked(filter)} and (${before}::uuid is null or d.id < ${before}::uuid) order by d.id desc limit ${limit}`.execute(
      on,
    );
  return rows;
}

export interface DeliveryWhole extends DeliveryRow {
  before: JsonObject | null;
  document: JsonObject | null;
  log: {
    attempt: number;
    startedAt: string;
    durationMs: number | null;
    request: JsonObject | null;
    response: JsonObject | null;
    error: { code: string; message: string } | null;
  }[];
}

export async function readDelivery(on: Rows, project: string, id: string): Promise<DeliveryWhole | null> {
  const { rows } =
    await sql<DeliveryWhole>`select ${SHOWN()}, coalesce(d.before, c.before) as before, coalesce(d.after, c.after) as document, coalesce((select jsonb_agg(jsonb_build_object('attempt', a.attempt,
      'startedAt', a.started_at, 'durationMs', a.duration_ms, 'request', a.request, 'response', a.response, 'error', a.error) order by a.attempt)
      from troupe.trigger_attempts a where a.delivery_id = d.id), '[]') as log
    from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id left join troupe.change_documents c on c.change_id = d.change_id
      and not (d.erased and d.ended_at is not null)
    where d.project_id = ${project} and d.id = ${id}`.execute(on);
  return rows[0] ?? null;
}

/** Under the same id, by the rule as it is now. What is open is left alone. */
export async function redeliver(
  on: Rows,
  project: string,
  filter: DeliveriesAsked & { id?: string | undefined },
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`with chosen as (
      select d.id, t.version, left(t.definition->'action'->>'url', 1) = '/' as own from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id
      where d.project_id = ${project} and d.status in ('dead', 'delivered') and not d.erased ${asked(filter)} ${filter.id === undefined ? sql`` : sql`and d.id = ${filter.id}`}
      order by d.change_id limit ${limit} for update of d skip locked)
    update troupe.trigger_deliveries d set status = 'pending', next_attempt_at = now(), ended_at = null, attempts_before = d.attempts,
      action_version = c.version, own = coalesce(c.own, false)
    from chosen c where d.id = c.id returning d.id`.execute(on);
  return rows.map(({ id }) => id);
}

/** Erases the documents of deleted chats in deliveries that were created while the chat was deleted. */
export async function eraseLateDeliveries(db: Database, limit = 1_000): Promise<number> {
  const rows = await db.run<{ id: string; change: number }>(
    {
      name: 'erase_late_deliveries',
      text: `with late as materialized (select d.id from troupe.tombstones x join troupe.trigger_deliveries d on d.chat_id = x.id::uuid
            where x.collection in ('sessions', 'spaces') and x.gone_at > now() - interval '1 day' and not d.erased limit $1 for update of d skip locked),
        erased as (
          update troupe.trigger_deliveries d set erased = true, before = case when d.ended_at is null then d.before end, after = case when d.ended_at is null then d.after end
          from late where d.id = late.id returning d.id, d.change_id),
        silent as (update troupe.trigger_attempts a set response = a.response - 'body' from erased where a.delivery_id = erased.id and a.response ? 'body')
        select id, change_id as change from erased`,
      values: [limit],
    },
    db.pool,
  );
  await db.run(
    {
      name: 'erase_late_documents',
      text: `delete from troupe.change_documents c where c.change_id = any ($1::bigint[])
        and not exists (select from troupe.trigger_deliveries d where d.change_id = c.change_id and d.ended_at is null)`,
      values: [rows.map(({ change }) => change)],
    },
    db.pool,
  );
  return rows.length;
}

/** Delivered ones after 7 days, dead letters after 30; and those of a trigger that was disabled and stayed so, after 30. */
export async function purgeDeliveries(db: Database, limit = 1_000): Promise<number> {
  const oldest = (status: string, time: string, days: number) =>
    `(select x.id from troupe.trigger_deliveries x where x.status = '${status}' and x.${time} < now() - interval '${days} days'
      order by x.${time} limit $1 for update skip locked)`;
  const rows = await db.run<{ n: number }>(
    {
      name: 'purge_deliveries',
      text: `with delivered as ${oldest('delivered', 'ended_at', 7)}, dead as ${oldest('dead', 'ended_at', 30)},
          disabled as ${oldest('pending', 'next_attempt_at', 30)},
          expired as (select id from delivered union all select id from dead union all select id from disabled limit $1),
          purged as (delete from troupe.trigger_deliveries d where d.id in (select id from expired) returning 1)
        select count(*)::int as n from purged`,
      values: [limit],
    },
    db.pool,
  );
  return rows[0]!.n;
}

// ---- what the kernel has done already

/** What became of a document that a rule told of: each answer names the transition that the source's handler would have made. */
export async function doneFor(
  db: Database,
  project: string,
  handler: string,
  /** The id of the document; of a call, its run and its own. */
  [document, call]: [document: string, call?: string],
): Promise<JsonObject | null> {
  const text = DONE[handler];
  if (!text) return null;
  const values = [project, document, ...(handler === 'tool-runner' ? [call ?? ''] : [])];
  const rows = await db.run<{ done: JsonObject | null }>({ name: `done_${handler}`, text, values }, db.pool);
  return rows[0]?.done ?? null;
}

const OF_TASK = (
  more: string,
) => `select jsonb_build_object('taskId', t.id, 'status', t.status, 'runId', t.run_id ${more}) as done
  from troupe.tasks t where t.project_id = $1 and t.id = $2::uuid`;

const DONE: Record<string, string> = {
  // In a session the message says which run answers it; in a space there may be several.
  orchestrator: `select jsonb_build_object('runId', r.id, 'status', r.status) as done from troupe.messages m join lateral (
      select x.* from troupe.runs x where x.id = case when m.metadata->>'troupe:run' ~ '^[0-9a-f-]{36}$' then (m.metadata->>'troupe:run')::uuid end
      union all select x.* from troupe.runs x where x.thread_id = m.thread_id and x.trigger_message_id = m.id
      union all select x.* from troupe.runs x where x.space_id = m.thread_id and x.trigger_message_id = m.id) r on r.project_id = $1
    where m.id = $2::uuid order by r.id limit 1`,
  'agent-init': OF_TASK(`, 'subAgentId', t.sub_agent_id`),
  'agent-loop': `select jsonb_build_object('subAgentId', a.id, 'status', a.status, 'runId', t.run_id) as done
    from troupe.messages m join troupe.sub_agents a on a.thread_id = m.thread_id join troupe.tasks t on t.id = a.task_id
    where m.id = $2::uuid and a.project_id = $1`,
  'tool-runner': `select jsonb_build_object('runId', c.run_id, 'callId', c.call_id, 'status', c.status) as done
    from troupe.runs r join troupe.tool_calls c on c.run_id = r.id
    where r.project_id = $1 and r.id = $2::uuid and c.call_id = $3`,
  'orchestrator-finalize': OF_TASK(`, 'result', t.result`),
  'orchestrator-notify': OF_TASK(`, 'question', t.question`),
};
