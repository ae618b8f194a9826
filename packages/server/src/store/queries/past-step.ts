import type { Database } from '../database.ts';
import type { RunRow } from './claim.ts';
import type { StoredMessage } from './commit.ts';
import { HEARD_KEY } from './messages.ts';

/** A run as it was when one of its steps was taken. */
export interface PastStep {
  /** With the tokens that it had used when the worker of that step claimed it. */
  run: RunRow;
  /** Null: the step was not taken. */
  taken: {
    provider: string;
    model: string;
    agentKey: string | null;
    budgeted: boolean;
    /** By the clock of the worker. */
    startedAt: Date;
    /** The run had ended since, and was taken up again. */
    inEarlierLife: boolean;
  } | null;
  /** As a claim gives it, up to what the model can have known. */
  transcript: StoredMessage[];
  /** Something was said to the run at about the moment at which the model was asked. */
  isDoubtful: boolean;
}

/** As in `troupe.tail`. */
const MAX_BYTES = 24 * 1024 * 1024;

// As `troupe.claim` gives it.
const RUN = `r.id, r.project_id as "projectId", r.door, r.agent_id as "agentId", r.entity_id as "entityId", r.snapshot_id as "snapshotId", r.thread_id as "threadId",
  r.parent_run_id as "parentRunId", r.root_run_id as "rootRunId", r.trigger_type as "triggerType", r.trigger_message_id as "triggerMessageId", r.trigger_seq as "triggerSeq",
  r.trigger, r.chain_depth as "chainDepth", r.serial, r.status, coalesce(h.step, r.step) as step, r.epoch, coalesce(h.version, 1) as version, r.attempt, r.model_index as "modelIndex",
  r.takeovers, r.open_calls as "openCalls", r.steers, r.wait_state as "waitState", 0 as "remainingMs", r.cost, r.budget_ids as "budgetIds", r.metadata, r.space_id as "spaceId", r.lives`;

/** Null where there is no such run. Of a step that was not taken, as it is now. */
export async function findPastStep(
  db: Database,
  { project, run, step }: { project: string; run: string; step: number },
): Promise<PastStep | null> {
  const rows = await db.run<
    RunRow & { historyLimit: number; lifeBegan: Date | null; taken: string | null; [column: string]: unknown }
  >(
    {
      name: 'find_past_step',
      text: `select ${RUN}, r.history_limit as "historyLimit", r.deadline_at - make_interval(secs => r.wall_ms::float8 / 1000) as "lifeBegan",
          s.provider, s.model, s.agent_key as "agentKey", s.budgeted, s.started_at as "startedAt",
          coalesce((select sum(x.input_tokens) from troupe.run_steps x where x.run_id = r.id and (s.epoch is null or x.epoch < s.epoch)), 0)::bigint as "inputTokens",
          coalesce((select sum(x.output_tokens) from troupe.run_steps x where x.run_id = r.id and (s.epoch is null or x.epoch < s.epoch)), 0)::bigint as "outputTokens"
        from troupe.runs r left join troupe.run_heads h on h.run_id = r.id left join troupe.run_steps s on s.run_id = r.id and s.step = $3
        where r.project_id = $1 and r.id = $2`,
      values: [project, run, step],
    },
    db.pool,
  );
  const row = rows[0];
  if (!row) return null;
  const { historyLimit, lifeBegan, provider, model, agentKey, budgeted, startedAt, ...found } = row;
  const at = startedAt as Date | null;
  // Of what was said since only as much as may have been known, however long the thread has become, and no more than a claim loads.
  // Messages of runs that had not started then are left out.
  const messages = await db.run<StoredMessage & { at: Date }>(
    {
      name: 'past_transcript',
      text: `with own as (select min(x.seq) filter (where x.step >= $5) as answer, max(x.seq) filter (where x.step < $5) as known
          from troupe.messages x where x.thread_id = $1 and x.run_id = $4 and x.step is not null),
        read as (select m.*, sum(pg_column_size(m.content)) over (order by m.seq desc) as stored
          from troupe.messages m join troupe.threads t on t.id = m.thread_id cross join own o
          where m.thread_id = $1 and m.seq > coalesce($2::bigint, t.last_message_seq) - $3
            and case when o.answer is not null then m.seq <= o.answer
              else $6::timestamptz is null or m.created_at <= $6 or m.run_id = $4 or m.seq <= greatest($2, o.known) end
            and not (m.seq > $2 and m.run_id is null and exists (select from troupe.runs w where w.entity_id = $7
              and w.trigger_message_id = m.id and (w.started_at is null or w.started_at > $6)))),
        -- A concatenation is not compressed, so that this is the size in memory.
        sized as (select r.*, sum(pg_column_size(r.content || '{}')) over (order by r.seq desc) as bytes from read r
          where r.stored <= $8 or r.run_id = $4 or r.seq = $2)
        select m.id, m.seq, m.role, m.content, m.tool_call_id as "callId", m.sender_id as sender, m.run_id as "runId", m.step, m.metadata, m.created_at as at
        from sized m where m.bytes <= $8 or m.run_id = $4 or m.seq = $2 order by m.seq`,
      values: [found.threadId, found.triggerSeq, historyLimit, run, step, at, found.entityId, MAX_BYTES],
    },
    db.pool,
  );
  const isOwn = (message: StoredMessage) => message.runId === run && message.step !== null;
  const before = messages.filter((message) => isOwn(message) && message.step! < step);
  // What lies before a message that the run itself had written came to it with the commit of that.
  const known = Math.max(found.triggerSeq ?? 0, ...before.map(({ seq }) => seq));
  // And what lies behind its answer it cannot have read, whatever the clocks say.
  const first = messages.find((message) => isOwn(message) && message.step! >= step);
  const answer = first?.seq ?? Number.MAX_SAFE_INTEGER;
  const heard = first?.step === step ? (first.metadata?.[HEARD_KEY] as number | undefined) : undefined;
  const transcript = messages.filter((message) => {
    if (isOwn(message)) return message.step! < step;
    if (message.seq <= known) return true;
    if (heard !== undefined && message.runId === run) return message.seq <= heard;
    return message.seq < answer && (at === null || message.at <= at);
  });
  return {
    run: found as unknown as RunRow,
    taken: at && {
      provider: provider as string,
      model: model as string,
      agentKey: agentKey as string | null,
      budgeted: budgeted as boolean,
      startedAt: at,
      inEarlierLife: found.lives > 1 && lifeBegan !== null && at < lifeBegan,
    },
    transcript: transcript.map(({ at: _, ...message }) => message),
    isDoubtful:
      at !== null &&
      heard === undefined &&
      transcript.some((message) => !isOwn(message) && message.runId === run && message.seq > known),
  };
}

/** What a run in a space was told when it took this step; null where that is not kept. */
export async function findKeptPrompt(db: Database, run: string, step: number): Promise<string | null> {
  const rows = await db.run<{ system: string }>(
    {
      name: 'find_kept_prompt',
      text: 'select system from troupe.run_prompts where run_id = $1 and step <= $2 order by step desc limit 1',
      values: [run, step],
    },
    db.pool,
  );
  return rows[0]?.system ?? null;
}
