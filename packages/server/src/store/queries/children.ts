import type { JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { RetryWith } from './outside.ts';
import type { StartItem } from './start.ts';

// Child runs that calls start and wait for; see functions/kernel/begin_child.sql and functions/kernel/join_child.sql.

export interface NewChild {
  /** The call that will wait, and who has its run. */
  by: { run: string; worker: string; epoch: number; call: string };
  /** How long the call waits. */
  deadlineMs: number;
  /** How deep children may be nested, and how many one root may have begun. */
  most: { depth: number; runs: number };
  /** The run with the message that it begins with, in a thread of its own. Parent, root and depth are known where it begins. */
  item: StartItem;
}

export type BegunChild =
  | { ok: true; duplicate: boolean; run: string; thread: string; parentThread: string }
  | { ok: false; code: 'run_lost' | 'call_not_open' }
  | { ok: false; code: 'task_depth' | 'too_many_runs'; limit: number };

export async function beginChild(
  db: Database,
  { by, deadlineMs, most, item }: NewChild,
): Promise<BegunChild> {
  const rows = await db.run<{ answer: BegunChild }>({
    name: 'begin_child',
    text: 'select troupe.begin_child($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb) as answer',
    values: [by.run, by.call, by.epoch, by.worker, deadlineMs, toJsonText(most), toJsonText(item)],
  });
  return rows[0]!.answer;
}

/** What a child, or whoever waited for it, left to be looked at; the oldest first. */
export async function openJoins(db: Database, limit: number): Promise<{ id: string; tells: boolean }[]> {
  return db.run<{ id: string; tells: boolean }>(
    {
      name: 'open_joins',
      text: `select id::text, coalesce(what in ('question', 'end'), false) as tells from troupe.joins order by id limit $1`,
      values: [limit],
    },
    db.pool,
  );
}

/** The agent that is about to be told of a task, and the model that its session names. */
export interface ToldAgent {
  project: string;
  agentId: string;
  modelId: string | null;
}

/** Null: a call waits for it, or nobody is told. */
export async function toldAgent(db: Database, join: string): Promise<ToldAgent | null> {
  const rows = await db.run<ToldAgent>(
    {
      name: 'told_agent',
      text: `select t.project_id as project, case when t.parent_run_id is null then s.agent_id else top.agent_id end as "agentId", s.model_id as "modelId"
        from troupe.joins j join troupe.tasks t on t.id = j.task_id and t.depth = 1 and not t.quiet
          join troupe.runs c on c.id = t.run_id and c.parent_call_id is null
          left join troupe.runs g on g.id = t.parent_run_id left join troupe.runs top on top.id = g.root_run_id
          left join troupe.sessions s on s.thread_id = t.chat_thread_id
        where j.id = $1 and j.what in ('question', 'end') and case when t.parent_run_id is null then s.agent_id else top.agent_id end is not null`,
      values: [join],
    },
    db.pool,
  );
  return rows[0] ?? null;
}

export type Joined =
  /** The call of this run was settled. */
  | { settled: string; thread: string; queued: boolean; how: 'completed' | 'failed'; canceled?: undefined }
  /** This child was canceled. */
  | { canceled: string; thread: string; settled?: undefined }
  /** Something was written in this thread. */
  | { told: string; queued: boolean; settled?: undefined; canceled?: undefined }
  | { told?: undefined; settled?: undefined; canceled?: undefined };

/** `current`: what the agent runs with that is told. Null: somebody else has it, or did it. */
export async function joinChild(
  db: Database,
  join: string,
  current: RetryWith | null = null,
): Promise<Joined | null> {
  const rows = await db.run<{ answer: Joined | null }>({
    name: 'join_child',
    text: 'select troupe.join_child($1, $2::jsonb) as answer',
    values: [join, current && toJsonText({ ...current })],
  });
  return rows[0]!.answer;
}

export interface TaskParent {
  snapshotId: string;
  trigger: JsonObject;
  network: { id: string; version: number } | null;
  sealed: JsonObject | null;
}

/** What a run hands on to those that it begins. */
export async function taskParent(db: Database, project: string, run: string): Promise<TaskParent | null> {
  const rows = await db.run<TaskParent>(
    {
      name: 'task_parent',
      text: `select snapshot_id as "snapshotId", trigger, sealed,
          case when network_id is not null then jsonb_build_object('id', network_id, 'version', network_version) end as network
        from troupe.runs where project_id = $1 and id = $2`,
      values: [project, run],
    },
    db.pool,
  );
  return rows[0] ?? null;
}
