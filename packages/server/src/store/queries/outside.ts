import type { Json, JsonObject } from '@troupe/protocol';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { CallError, StoredCall } from './commit.ts';
import { type KeyedRequest, requestTakenOver } from './idempotency.ts';

// Actions on a run from outside its worker; see functions/kernel/.

export type Settled =
  | { ok: true; queued: boolean; status: string; openCalls: number; thread: string }
  | {
      ok: false;
      code: 'run_not_found' | 'call_not_found' | 'call_not_open';
      status?: string;
      output?: Json;
      error?: CallError | null;
      settledBy?: string | null;
    };

export type SettleOutcome =
  | { status: 'completed'; output: Json }
  | { status: 'failed'; error: CallError }
  | { status: 'proceed'; args?: Json };

export async function settle(
  db: Database,
  run: string,
  call: string,
  outcome: SettleOutcome,
  by: string | null,
  messageId: string,
): Promise<Settled> {
  return one(db, 'settle', 'select troupe.settle($1, $2, $3::jsonb, $4, $5) as answer', [
    run,
    call,
    toJsonText(outcome),
    by,
    messageId,
  ]);
}

export type Canceled =
  | { ok: true; status: 'canceled'; worker: string | null; thread: string }
  | { ok: false; code: 'run_not_found' | 'run_ended'; status?: string; reason?: string | null };

export async function cancel(
  db: Database,
  run: string,
  reason: string,
  by: string | null,
): Promise<Canceled> {
  return one(db, 'cancel', 'select troupe.cancel($1, $2, $3) as answer', [run, reason, by]);
}

export type Absorbed =
  | {
      ok: true;
      run: string;
      /** What the run was doing when it was absorbed. */
      status: string;
      worker: string | null;
      thread: string;
      trigger: JsonObject;
      actions: StoredCall[];
      /** Whose readers are to be told of it. */
      spaces?: (string | null)[];
    }
  | {
      ok: false;
      code:
        | 'cannot_absorb_itself'
        | 'absorber_lost'
        | 'run_not_found'
        | 'not_your_run'
        | 'already_absorbed'
        | 'run_ended';
      by?: string;
      status?: string;
    };

export async function absorb(
  db: Database,
  target: string,
  by: { run: string; worker: string; epoch: number },
): Promise<Absorbed> {
  return one(db, 'absorb', 'select troupe.absorb($1, $2, $3, $4) as answer', [
    target,
    by.run,
    by.worker,
    by.epoch,
  ]);
}

export interface Expired {
  runs: number;
  expired?: number;
  canceled?: number;
  queued?: number;
}

export async function expire(db: Database, limit: number): Promise<Expired> {
  return one(db, 'expire', 'select troupe.expire($1) as answer', [limit]);
}

/** The same, and whether there are children to be joined: what every worker asks twice a second is one statement. */
export async function sweep(db: Database, limit: number): Promise<Expired & { joins: boolean }> {
  const rows = await db.run<{ answer: Expired; joins: boolean }>({
    name: 'sweep',
    text: 'select troupe.expire($1) as answer, exists (select from troupe.joins) as joins',
    values: [limit],
  });
  const { answer, joins } = rows[0]!;
  return { ...answer, joins };
}

export type Retried =
  | { ok: true; run: string; thread: string; ready: boolean }
  | {
      ok: false;
      code: 'run_not_found' | 'run_not_retryable' | 'run_purged' | 'task_went_on';
      status?: string;
      reason?: string | null;
    };

/** What a run goes on with that is taken up again. */
export interface RetryWith {
  /** Absent, like what follows: what it has. */
  snapshot?: string;
  wallMs?: number;
  /** Absent: what it has. */
  historyLimit?: number;
  /** Where one was chosen for this run. */
  modelId?: string;
  /** Recorded with the retry. */
  request?: KeyedRequest;
}

export async function retry(db: Database, run: string, current: RetryWith | null = null): Promise<Retried> {
  const given = current && toJsonText({ ...current });
  const retried = await one<Retried | { ok: false; code: 'request_taken_over' }>(
    db,
    'retry',
    'select troupe.retry($1, $2::jsonb) as answer',
    [run, given],
  );
  if (!retried.ok && retried.code === 'request_taken_over') throw requestTakenOver();
  return retried as Retried;
}

export type Forked =
  | { ok: true; run: string; thread: string; messages?: number; duplicate?: boolean }
  | {
      ok: false;
      code: 'run_not_found' | 'run_purged' | 'snapshot_not_found' | 'step_not_found' | 'step_not_settled';
      step?: number;
    };

export async function fork(
  db: Database,
  source: string,
  step: number,
  target: { thread: string; run: string; snapshot: string | null; edits: { seq: number; content: Json }[] },
): Promise<Forked> {
  return one(db, 'fork', 'select troupe.fork($1, $2, $3, $4, $5, $6::jsonb) as answer', [
    source,
    step,
    target.thread,
    target.run,
    target.snapshot,
    toJsonText(target.edits),
  ]);
}

async function one<Answer>(db: Database, name: string, text: string, values: unknown[]): Promise<Answer> {
  const rows = await db.run<{ answer: Answer }>({ name, text, values });
  return rows[0]!.answer;
}
