import type { AgentSnapshot, JsonObject, TaskStatus, ToolCallStatus } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { StartItem } from './start.ts';
import type { TaskScope } from './task-records.ts';

// Work that a run delegates; see functions/tasks/.

/** The call that gives a task or speaks to its sub-agent, and who has its run. */
export interface ByCall {
  run: string;
  worker: string;
  epoch: number;
  call: string;
}

/** How deep tasks may be nested, and how many runs may follow from one root. */
export interface MostTasks {
  depth: number;
  runs: number;
}

export interface NewTask {
  id: string;
  type: 'agent' | 'tool';
  name: string;
  instruction: string;
  args?: JsonObject;
  subAgent?: string;
  role?: string;
  background: boolean;
  /** How long the call waits. */
  deadlineMs: number;
  most: MostTasks;
}

export type BegunTask =
  | {
      ok: true;
      duplicate: boolean;
      run: string;
      thread: string;
      parentThread: string;
      task: string;
      subAgent: string | null;
    }
  | { ok: false; code: 'run_lost' | 'call_not_open' | 'no_background' | 'sub_agent_not_found' }
  | { ok: false; code: 'task_depth' | 'too_many_runs'; limit: number }
  | { ok: false; code: 'sub_agent_busy' | 'not_asked'; status: TaskStatus };

export async function beginTask(
  db: Database,
  by: ByCall,
  task: NewTask,
  item: StartItem,
): Promise<BegunTask> {
  return answer(
    db,
    'begin_task',
    'select troupe.begin_task($1, $2, $3, $4, $5::jsonb, $6::jsonb) as answer',
    [...fence(by), toJsonText({ ...task } as never), toJsonText(item as never)],
  );
}

/** What goes on with a sub-agent that has ended. */
export async function reactivateTask(
  db: Database,
  by: ByCall,
  task: Pick<NewTask, 'background' | 'deadlineMs' | 'most'> & { subAgent: string },
  item: StartItem,
): Promise<BegunTask> {
  const text = 'select troupe.reactivate_task($1, $2, $3, $4, $5::jsonb, $6::jsonb) as answer';
  const values = [...fence(by), toJsonText({ ...task } as never), toJsonText(item as never)];
  return answer(db, 'reactivate_task', text, values);
}

/** `waits`: the call waits for the sub-agent from here on. */
export async function replyToTask(
  db: Database,
  by: ByCall,
  reply: { subAgent: string; content: string; deadlineMs: number },
): Promise<BegunTask & { waits?: boolean }> {
  const text = 'select troupe.reply_to_task($1, $2, $3, $4, $5, $6, $7) as answer';
  return answer(db, 'reply_to_task', text, [...fence(by), reply.subAgent, reply.content, reply.deadlineMs]);
}

export interface OutsideTask
  extends Pick<NewTask, 'id' | 'type' | 'name' | 'instruction' | 'args' | 'subAgent' | 'role'> {
  chat: string;
  /** In a space, the member for whom the task is created; in a session, the owner. */
  user?: string | undefined;
  triggerMessage?: string | undefined;
}

export type CreatedTask =
  | { ok: true; duplicate: boolean; thread: string; chatThread: string }
  | { ok: false; code: 'chat_not_found' | 'task_id_taken' | 'not_a_member' | 'message_not_found' };

/** A task that no run gives. */
export async function createTask(db: Database, task: OutsideTask, item: StartItem): Promise<CreatedTask> {
  const values = [toJsonText({ ...task } as never), toJsonText(item as never)];
  return answer(db, 'create_task', 'select troupe.create_task($1::jsonb, $2::jsonb) as answer', values);
}

/** Queues a notice about a task from outside for the agent of its session. False: there is nothing to tell. */
export async function requestNotice(
  db: Database,
  project: string,
  task: string,
  what: 'question' | 'end',
): Promise<boolean> {
  const text = 'select troupe.request_notice($1, $2, $3) as answer';
  return answer(db, 'request_notice', text, [project, task, what]);
}

export type AnsweredTask =
  | { ok: true; repeated: boolean; queued: boolean; thread: string }
  | { ok: false; code: 'task_not_found' }
  | {
      ok: false;
      code: 'not_asked';
      status: TaskStatus;
      /** The state of the question; null: there is no such question. */
      call: ToolCallStatus | null;
      settledBy: string | null;
    };

/** Answers a question from outside. Without `questionId`: the open one, or a repetition of the last answer. */
export async function answerTask(
  db: Database,
  task: string,
  { questionId, answer: text, by }: { questionId?: string | undefined; answer: string; by: string },
): Promise<AnsweredTask> {
  const values = [task, questionId ?? null, text, by];
  return answer(db, 'answer_task', 'select troupe.answer_task($1, $2, $3, $4) as answer', values);
}

/** False where somebody else has the run. */
export async function askGiver(db: Database, by: ByCall, deadlineMs: number): Promise<boolean> {
  const text = 'select troupe.ask($1, $2, $3, $4, $5) as answer';
  return answer(db, 'ask_giver', text, [...fence(by), deadlineMs]);
}

export interface AskedBefore {
  question: string;
  /** Null: nobody answered in time. */
  answer: string | null;
}

/** What the sub-agent of this run has asked so far, in all its runs, and what it was answered; the oldest first. */
export async function questionsOf(db: Database, run: string, call: string): Promise<AskedBefore[]> {
  return db.run<AskedBefore>(
    {
      name: 'questions_of',
      text: `select c.args->>'question' as question, c.output->>'answer' as answer
        from troupe.runs r join troupe.runs x on x.task_id = r.task_id join troupe.tool_calls c on c.run_id = x.id
        where r.id = $1 and c.tool = 'ask_user' and c.status in ('completed', 'expired') and (c.run_id, c.call_id) <> ($1, $2)
          and not coalesce(c.output ? 'repeated', false)
        order by c.created_at, c.call_id`,
      values: [run, call],
    },
    db.pool,
  );
}

/** The agent of a sub-agent, and its thread. */
export async function findSubAgent(
  db: Database,
  project: string,
  subAgent: string,
): Promise<{ agentId: string; threadId: string; taskId: string } | null> {
  const rows = await db.run<{ agentId: string; threadId: string; taskId: string }>(
    {
      name: 'find_agent_of_sub_agent',
      text: `select agent_id as "agentId", thread_id as "threadId", task_id as "taskId" from troupe.sub_agents
        where project_id = $1 and id = $2`,
      values: [project, subAgent],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** What began a run, and the task that it works on: a copy of such a run works on none. */
export async function triggerOfRun(
  db: Database,
  project: string,
  run: string,
): Promise<{ trigger: JsonObject; taskId: string | null } | null> {
  const rows = await db.run<{ trigger: JsonObject; taskId: string | null }>(
    {
      name: 'trigger_of_run',
      text: 'select trigger, task_id as "taskId" from troupe.runs where project_id = $1 and id = $2',
      values: [project, run],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** Names of the agents that can be given something, in their order. */
export async function activeAgentNames(db: Database, project: string, most: number): Promise<string[]> {
  const rows = await db.run<{ name: string }>(
    {
      name: 'active_agent_names',
      text: `select name from troupe.agents where project_id = $1 and status = 'active' order by name limit $2`,
      values: [project, most],
    },
    db.pool,
  );
  return rows.map(({ name }) => name);
}

/** What a run is executed with, without what its door brings. */
export async function snapshotOfRun(
  db: Database,
  project: string,
  run: string,
): Promise<AgentSnapshot | null> {
  const rows = await db.run<{ compiled: AgentSnapshot }>(
    {
      name: 'snapshot_of_run',
      text: `select s.compiled from troupe.runs r join troupe.compiled_snapshots s on s.id = r.snapshot_id
        where r.project_id = $1 and r.id = $2`,
      values: [project, run],
    },
    db.pool,
  );
  return rows[0]?.compiled ?? null;
}

export interface TaskSeen {
  taskId: string;
  subAgentId: string | null;
  name: string;
  status: TaskStatus;
  instruction: string;
  question: string | null;
  /** The last question that a person answered, and the answer. */
  answered: { question: string; answer: string } | null;
  summary: string | null;
}

/** Tasks that the agent of this run sees: given by it or from outside, in this chat or within its own task. All open tasks, then the last that ended. */
export async function tasksSeenBy(
  db: Database,
  run: string,
  most: { open: number; ended: number; longest: number },
): Promise<TaskSeen[]> {
  return db.run<TaskSeen>(
    {
      name: 'tasks_seen_by',
      text: `with place as materialized (select troupe.place_of($1) as p),
        own as materialized (select t.id, t.sub_agent_id, t.name, t.status, t.instruction, t.question, t.result, t.error, t.run_id,
            t.status in ('pending', 'running', 'waiting') as open
          from place, troupe.runs r, troupe.tasks t left join troupe.runs g on g.id = t.parent_run_id
          where r.id = $1 and t.chat_id = (p->>'chat')::uuid and t.parent_task_id is not distinct from (p->>'task')::uuid
            and (t.parent_run_id is null or g.agent_id is not distinct from r.agent_id)),
        shown as ((select * from own where open order by id desc limit $2) union all (select * from own where not open order by id desc limit $3))
        select id as "taskId", sub_agent_id as "subAgentId", name, status, left(instruction, $4) as instruction, left(question, $4) as question,
          (select jsonb_build_object('question', left(c.args->>'question', $4), 'answer', left(c.output->>'answer', $4))
            from troupe.tool_calls c where c.run_id = shown.run_id and c.tool = 'ask_user' and c.status = 'completed' and c.settled_by not like 'run:%'
            order by c.settled_at desc limit 1) as answered,
          left(coalesce(case when status = 'success' then result end, error->>'message'), $4) as summary from shown order by open desc, id`,
      values: [run, most.open, most.ended, most.longest],
    },
    db.pool,
  );
}

export interface TaskRun {
  id: string;
  runId: string;
  status: TaskStatus;
}

/** The task with the run that works on it. Null: the project has no such task. */
export async function taskRun(db: Database, project: string, task: string): Promise<TaskRun | null> {
  const rows = await db.run<TaskRun>(
    {
      name: 'task_run',
      text: 'select id, run_id as "runId", status from troupe.tasks where project_id = $1 and id = $2',
      values: [project, task],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

/** The open tasks of a chat, the oldest first. From here on their ends start no run. */
export async function quietTasks(db: Database, scope: TaskScope, chat: string): Promise<TaskRun[]> {
  const rows = await db.run<TaskRun>({
    name: 'quiet_tasks',
    text: `update troupe.tasks set quiet = true where id in (select t.id from troupe.tasks t
        where t.project_id = $1 and t.chat_id = $2 and ($3::uuid is null or t.user_id = $3) and t.status in ('pending', 'running', 'waiting') order by t.id for no key update)
      returning id, run_id as "runId", status`,
    values: [scope.project, chat, scope.entityId],
  });
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function fence({ run, call, epoch, worker }: ByCall): unknown[] {
  return [run, call, epoch, worker];
}

async function answer<Answer>(db: Database, name: string, text: string, values: unknown[]): Promise<Answer> {
  const rows = await db.run<{ answer: Answer }>({ name, text, values });
  return rows[0]!.answer;
}
