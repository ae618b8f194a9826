import type { JsonObject, SubAgentStatus, TaskStatus, ToolCallStatus } from '@troupe/protocol';
import type { Database } from '../database.ts';

// Reads tasks and sub-agents for callers outside a run. functions/tasks/ creates and updates them.

/** Whose tasks are meant: all of a project, or those of a person. */
export interface TaskScope {
  project: string;
  entityId: string | null;
}

export interface TaskRecord {
  id: string;
  userId: string | null;
  chatId: string;
  type: 'agent' | 'tool';
  name: string;
  instruction: string;
  subAgentId: string | null;
  triggerMessageId: string | null;
  status: TaskStatus;
  result: string | null;
  error: { code?: string; message?: string } | null;
  question: string | null;
  /** The call that asks it. */
  questionId: string | null;
  background: boolean;
  depth: number;
  parentTaskId: string | null;
  /** Null: created from outside. */
  parentRunId: string | null;
  runId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const TASK = `select t.id, t.user_id as "userId", t.chat_id as "chatId", t.type, t.name, t.instruction, 
    case when t.status <> 'pending' then t.sub_agent_id end as "subAgentId",
    t.trigger_message_id as "triggerMessageId", t.status, t.result, t.error, t.question,
    case when t.question is not null then (select c.call_id from troupe.tool_calls c where c.run_id = t.run_id and c.waits_for = 'answer'
      order by c.step, c.position limit 1) end as "questionId", t.background, t.depth,
    t.parent_task_id as "parentTaskId", t.parent_run_id as "parentRunId", t.run_id as "runId",
    t.created_at as "createdAt", t.updated_at as "updatedAt"
  from troupe.tasks t`;

export async function taskRecord(db: Database, scope: TaskScope, id: string): Promise<TaskRecord | null> {
  const rows = await db.run<TaskRecord>(
    {
      name: 'find_task',
      text: `${TASK} where t.project_id = $1 and ($2::uuid is null or t.user_id = $2) and t.id = $3`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface TaskFilter {
  chat?: string | undefined;
  status?: TaskStatus | undefined;
  parent?: string | undefined;
  type?: 'agent' | 'tool' | undefined;
  before?: string | undefined;
  limit: number;
}

/** The newest first. */
export async function listTasks(db: Database, scope: TaskScope, filter: TaskFilter): Promise<TaskRecord[]> {
  // By their own indexes: a statement for all would be planned for none.
  const by = firstOf({ parent: filter.parent, chat: filter.chat, user: scope.entityId });
  const statuses = filter.status ? [filter.status] : TASK_STATUSES;
  const ofType = 'and ($5::text is null or x.type = $5)';
  const of = {
    parent: 'and t.parent_task_id = $6',
    chat: 'and t.chat_id = $7',
    user: `and t.id in (${newest('tasks', 'user_id = $2', statuses, ofType, '$8')})`,
    project: `and t.id in (${newest('tasks', 'project_id = $1', statuses, ofType, '$8')})`,
  }[by];
  return db.run<TaskRecord>(
    {
      name: `list_tasks_of_${by}`,
      text: `${TASK} where t.project_id = $1 and ($2::uuid is null or t.user_id = $2) and ($3::uuid is null or t.id < $3) ${of}
          and ($4::text is null or t.status = $4) and ($5::text is null or t.type = $5)
          and ($6::uuid is null or t.parent_task_id = $6) and ($7::uuid is null or t.chat_id = $7)
        order by t.id desc limit $8`,
      values: [
        scope.project,
        scope.entityId,
        filter.before ?? null,
        filter.status ?? null,
        filter.type ?? null,
        filter.parent ?? null,
        filter.chat ?? null,
        filter.limit,
      ],
      plannedAnew: true,
    },
    db.pool,
  );
}

// By name, since the contract is a large import for an idle worker.
const TASK_STATUSES = Object.keys({
  pending: 0,
  running: 0,
  waiting: 0,
  success: 0,
  failed: 0,
  canceled: 0,
} satisfies Record<TaskStatus, 0>);
const SUB_AGENT_STATUSES = Object.keys({
  active: 0,
  waiting_for_user: 0,
  completed: 0,
  failed: 0,
} satisfies Record<SubAgentStatus, 0>);

/** Ids of the newest rows. Each status is a range of its index, so a rare one is found without reading the others. `$3` is the cursor. */
function newest(
  table: 'tasks' | 'sub_agents',
  owner: string,
  statuses: readonly string[],
  condition: string,
  limit: string,
): string {
  const last = `order by x.id desc limit ${limit}`;
  const ranges = statuses.map(
    (status) => `(select x.id from troupe.${table} x
      where x.${owner} and x.status = '${status}' and ($3::uuid is null or x.id < $3) ${condition} ${last})`,
  );
  return `select x.id from (${ranges.join(' union all ')}) x ${last}`;
}

/** The first that was given. */
function firstOf<Name extends string>(given: Record<Name, string | null | undefined>): Name | 'project' {
  return (Object.keys(given) as Name[]).find((name) => given[name] != null) ?? 'project';
}

export interface SubAgentRecord {
  id: string;
  userId: string | null;
  chatId: string;
  taskId: string;
  agentId: string;
  role: string;
  status: SubAgentStatus;
  iterationCount: number;
  summary: string | null;
  threadId: string;
  createdAt: Date;
  updatedAt: Date;
}

// Steps of a run at work are in its head while a worker has it, and come to the row when it ends.
const SUB_AGENT = `select a.id, a.user_id as "userId", a.chat_id as "chatId", a.task_id as "taskId", a.agent_id as "agentId", a.role, a.status,
    greatest(a.iteration_count, (select coalesce(sum(coalesce(h.step, r.step)), 0)::int
      from troupe.runs r left join troupe.run_heads h on h.run_id = r.id where r.task_id = a.task_id)) as "iterationCount",
    a.summary, a.thread_id as "threadId", a.created_at as "createdAt", a.updated_at as "updatedAt"
  from troupe.sub_agents a join troupe.tasks t on t.id = a.task_id`;

export async function subAgentRecord(
  db: Database,
  scope: TaskScope,
  id: string,
): Promise<SubAgentRecord | null> {
  const rows = await db.run<SubAgentRecord>(
    {
      name: 'find_sub_agent',
      text: `${SUB_AGENT} where a.project_id = $1 and ($2::uuid is null or a.user_id = $2) and a.id = $3`,
      values: [scope.project, scope.entityId, id],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export interface SubAgentFilter {
  chat?: string | undefined;
  task?: string | undefined;
  status?: SubAgentStatus | undefined;
  before?: string | undefined;
  limit: number;
}

/** The newest first. */
export async function listSubAgents(
  db: Database,
  scope: TaskScope,
  filter: SubAgentFilter,
): Promise<SubAgentRecord[]> {
  const statuses = filter.status ? [filter.status] : SUB_AGENT_STATUSES;
  const by = firstOf({ task: filter.task, chat: filter.chat, user: scope.entityId });
  // A chat has an index with its tasks.
  const of = {
    task: 'and a.task_id = $5',
    chat: 'and t.chat_id = $6',
    user: `and a.id in (${newest('sub_agents', 'user_id = $2', statuses, '', '$7')})`,
    project: `and a.id in (${newest('sub_agents', 'project_id = $1', statuses, '', '$7')})`,
  }[by];
  return db.run<SubAgentRecord>(
    {
      name: `list_sub_agents_of_${by}`,
      text: `${SUB_AGENT} where a.project_id = $1 and ($2::uuid is null or a.user_id = $2) and ($3::uuid is null or a.id < $3) ${of}
          and ($4::text is null or a.status = $4) and ($5::uuid is null or a.task_id = $5) and ($6::uuid is null or a.chat_id = $6)
        order by a.id desc limit $7`,
      values: [
        scope.project,
        scope.entityId,
        filter.before ?? null,
        filter.status ?? null,
        filter.task ?? null,
        filter.chat ?? null,
        filter.limit,
      ],
      plannedAnew: true,
    },
    db.pool,
  );
}

// What models call theirs is unique within a run only, and a sub-agent may have had several.
const callId = (row: string, call: string) => `troupe.id_from(${row}.run_id || ':' || ${row}.${call})::text`;

/** What a model said in one step, a result, or something that was said to it. */
export interface SubAgentMessageRecord {
  id: string;
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  calls: { id: string; name: string; arguments: JsonObject }[];
  /** Of a result. */
  toolCallId: string | null;
  name: string | null;
  content: JsonObject | null;
  /** Where the next begins. */
  last: number;
  createdAt: Date;
}

/** The oldest first. The rows of one step are stored by one commit, so that nothing stands between them. */
export async function listSubAgentMessages(
  db: Database,
  thread: string,
  { after, limit }: { after: number; limit: number },
): Promise<SubAgentMessageRecord[]> {
  return db.run<SubAgentMessageRecord>(
    {
      name: 'list_sub_agent_messages',
      text: `select (array_agg(m.id order by m.seq))[1] as id, (array_agg(case when m.role in ('assistant', 'tool_call') then 'assistant'
            when m.role = 'tool_result' then 'tool' else m.role::text end))[1] as role,
          coalesce(string_agg(m.content->>'text', '' order by m.seq) filter (where m.role in ('user', 'system', 'assistant')), '') as text,
          coalesce(jsonb_agg(m.content || jsonb_build_object('id', ${callId('m', 'tool_call_id')}) order by m.seq)
            filter (where m.role = 'tool_call'), '[]') as calls,
          max(${callId('m', 'tool_call_id')}) filter (where m.role = 'tool_result') as "toolCallId", max(c.tool) as name,
          (jsonb_agg(m.content) filter (where m.role = 'tool_result'))->0 as content,
          max(m.seq) as last, min(m.created_at) as "createdAt"
        from troupe.messages m
          left join troupe.tool_calls c on m.role = 'tool_result' and c.run_id = m.run_id and c.call_id = m.tool_call_id
        where m.thread_id = $1 and m.seq > $2
        group by case when m.role in ('assistant', 'tool_call') then m.run_id::text || ':' || m.step else m.seq::text end
        order by max(m.seq) limit $3`,
      values: [thread, after, limit],
    },
    db.pool,
  );
}

/** Where a list of calls goes on. */
export interface CallPlace {
  run: string;
  step: number;
  position: number;
}

export interface SubAgentCallRecord extends CallPlace {
  id: string;
  callId: string;
  tool: string;
  args: JsonObject;
  status: ToolCallStatus;
  output: unknown;
  error: { code: string; message: string } | null;
  createdAt: Date;
}

/** The oldest first, of all its runs. */
export async function listSubAgentCalls(
  db: Database,
  task: string,
  { after, limit }: { after: CallPlace | undefined; limit: number },
): Promise<SubAgentCallRecord[]> {
  return db.run<SubAgentCallRecord>(
    {
      name: 'list_sub_agent_calls',
      text: `select c.run_id as run, c.step, c.position, ${callId('c', 'call_id')} as id, c.call_id as "callId", c.tool, c.args, c.status, c.output, c.error, c.created_at as "createdAt"
        from troupe.runs r join troupe.tool_calls c on c.run_id = r.id
        where r.task_id = $1 and ($2::uuid is null
          or (r.created_at, r.id, c.step, c.position) > ((select created_at from troupe.runs where id = $2), $2, $3::int, $4::int))
        order by r.created_at, r.id, c.step, c.position limit $5`,
      values: [task, after?.run ?? null, after?.step ?? null, after?.position ?? null, limit],
    },
    db.pool,
  );
}
