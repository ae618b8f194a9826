import type { JsonObject } from '@troupe/protocol';
import { newId, RetryableError } from '../../base/index.ts';
import type { Database, Rows } from '../database.ts';
import { toJsonText } from '../json.ts';
import { sql } from '../kysely.ts';

/** How long an answer is kept. */
const KEPT = "interval '24 hours'";
/** A request that was not held for this long is lost: its process hangs, or its machine is gone. */
const STALE = `case when k.body ? 'attempt' then interval '15 seconds' else interval '1 minute' end`;
/** After a restart of Postgres, every process takes its lock again. */
const LOCKS_BACK = "interval '2 seconds'";

/** A request that carries a key, as the transaction of its effect names it. */
export interface KeyedRequest {
  project: string;
  key: string;
  /** Fences the key: whoever takes it over has another one. */
  attempt: string;
}

/** The change that a request made, as the audit log names it. */
export interface Effect {
  target: string | null;
  /** For changes that make a version. */
  version?: number;
  /** For changes that count what they did. */
  count?: number;
}

export type IdempotencyClaim =
  /**
   * The request is to be carried out. `made` is the id of what it creates, the same for every attempt. `isRepeat`: an earlier attempt may have
   * had an effect; one that was committed together with the key is in `effect`.
   */
  | { outcome: 'claimed'; attempt: string; made: string; isRepeat: boolean; effect: Effect | null }
  | { outcome: 'answered'; status: number; body: JsonObject | null }
  | { outcome: 'under_way' }
  | { outcome: 'other_request' };

export interface IdempotencyHolder {
  /** The id under whose advisory lock this process is known to live. */
  holder: string;
  /** Whether this process is carrying the request out. */
  isOurs(attempt: string): boolean;
}

interface Progress {
  made: string | null;
  effect: Effect | null;
}

const PROGRESS = `body->>'made' as made, body->'effect' as effect`;

/**
 * One statement for the first request with a key, two for a repeated one, three where it is taken over from a process that died. The first
 * fingerprint is kept; a request that was kept by any of them is the same.
 */
export async function claimIdempotencyKey(
  db: Database,
  { project, key }: { project: string; key: string },
  fingerprints: readonly [Buffer, ...Buffer[]],
  { holder, isOurs }: IdempotencyHolder,
): Promise<IdempotencyClaim> {
  const [made, attempt] = [newId(), newId()];
  const fresh = toJsonText({ made, holder, attempt });
  const claimed = (row: Progress): IdempotencyClaim => ({
    outcome: 'claimed',
    attempt,
    made: row.made ?? made,
    isRepeat: row.made !== made,
    effect: row.effect,
  });
  for (;;) {
    const [row] = await db.run<Progress>(
      {
        name: 'claim_idempotency_key',
        text: `insert into troupe.idempotency_keys as k (project_id, key, fingerprint, body) values ($1, $2, $3, $4::jsonb)
          on conflict (project_id, key) do update
            set fingerprint = excluded.fingerprint, status = null, created_at = clock_timestamp(),
              body = case when k.status is null and k.fingerprint = any($5::bytea[]) then excluded.body || coalesce(k.body, '{}') ||
                jsonb_build_object('holder', excluded.body->'holder', 'attempt', excluded.body->'attempt') else excluded.body end
            where k.created_at < now() - ${KEPT} or (k.status is null and k.created_at < now() - ${STALE} and k.fingerprint = any($5::bytea[]))
          returning ${PROGRESS}`,
        values: [project, key, fingerprints[0], fresh, fingerprints],
      },
      db.pool,
    );
    if (row) return claimed(row);
    const [found] = await db.run<Found>(
      {
        name: 'find_idempotency_key',
        text: `select fingerprint = any($3::bytea[]) as same, status, body, ${HOLDER_LIVES} as "holderLives" from troupe.idempotency_keys k
          where project_id = $1 and key = $2`,
        values: [project, key, fingerprints],
      },
      db.pool,
    );
    // Freed between the two statements: it can be claimed after all.
    if (!found) continue;
    if (!found.same) return { outcome: 'other_request' };
    if (found.status !== null) return { outcome: 'answered', status: found.status, body: found.body };
    const held = found.body?.attempt as string | undefined;
    if (held === undefined) return { outcome: 'under_way' };
    // A claim of this process that it does not know of: the answer of the database to it was lost.
    const lives = found.body!.holder === holder ? isOurs(held) : found.holderLives;
    if (lives) return { outcome: 'under_way' };
    const [taken] = await db.run<Progress>(
      {
        name: 'take_idempotency_key',
        text: `update troupe.idempotency_keys set created_at = clock_timestamp(), body = body || jsonb_build_object('holder', $4::text, 'attempt', $5::text)
          where project_id = $1 and key = $2 and status is null and body->>'attempt' = $3 returning ${PROGRESS}`,
        values: [project, key, held, holder, attempt],
      },
      db.pool,
    );
    if (taken) return claimed(taken);
  }
}

interface Found {
  same: boolean;
  status: number | null;
  body: JsonObject | null;
  holderLives: boolean;
}

// Looked up only for a request without an answer.
const HOLDER_LIVES = `case when status is not null or not coalesce(body ? 'holder', false) then true
  else pg_postmaster_start_time() > now() - ${LOCKS_BACK} or exists (select from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = troupe.worker_lock((k.body->>'holder')::uuid)) end`;

/** In the transaction of the effect: neither is there without the other. Throws where the key was taken over, so that the effect is undone. */
export async function recordEffect(on: Rows, request: KeyedRequest, effect: Effect): Promise<void> {
  const { project, key, attempt } = request;
  const recorded = await on
    .updateTable('idempotency_keys')
    .set({ body: sql`body || jsonb_build_object('effect', ${toJsonText(effect)}::jsonb)` })
    .where('project_id', '=', project)
    .where('key', '=', key)
    .where('status', 'is', null)
    .where(sql<string>`body->>'attempt'`, '=', attempt)
    .executeTakeFirst();
  if (recorded.numUpdatedRows > 0n) return;
  throw requestTakenOver();
}

export function requestTakenOver(): RetryableError {
  return new RetryableError('request_taken_over', 'Another server carries this request out.', {
    hint: 'Send it again with the same Idempotency-Key.',
    retryAfterMs: 1_000,
  });
}

const OWN = `project_id = $1 and key = $2 and body->>'attempt' = $3 and status is null`;

/** Keeps what the request was answered, unless somebody took the key over since. */
export async function answerIdempotencyKey(
  db: Database,
  { project, key, attempt }: KeyedRequest,
  answer: { status: number; body: JsonObject | null },
): Promise<void> {
  await db.run(
    {
      name: 'answer_idempotency_key',
      text: `update troupe.idempotency_keys set status = $4, body = $5::jsonb where ${OWN}`,
      values: [project, key, attempt, answer.status, answer.body && toJsonText(answer.body)],
    },
    db.pool,
  );
}

/** Nothing came of the request: the next one with this key is the first. */
export async function freeIdempotencyKey(
  db: Database,
  { project, key, attempt }: KeyedRequest,
): Promise<void> {
  await db.run(
    {
      name: 'free_idempotency_key',
      text: `delete from troupe.idempotency_keys where ${OWN}`,
      values: [project, key, attempt],
    },
    db.pool,
  );
}

/**
 * The request failed, and may have been carried out all the same, as where the answer of the database was lost: the next one with this key
 * is tried anew and makes what this one was to make.
 */
export async function leaveIdempotencyKey(
  db: Database,
  { project, key, attempt }: KeyedRequest,
): Promise<void> {
  await db.run(
    {
      name: 'leave_idempotency_key',
      text: `update troupe.idempotency_keys set created_at = now() - interval '2 minutes' where ${OWN}`,
      values: [project, key, attempt],
    },
    db.pool,
  );
}

/** Still under way, and not stale for a while. False where the key was taken over. */
export async function holdIdempotencyKey(
  db: Database,
  { project, key, attempt }: KeyedRequest,
): Promise<boolean> {
  const rows = await db.run(
    {
      name: 'hold_idempotency_key',
      text: `update troupe.idempotency_keys set created_at = clock_timestamp() where ${OWN} returning 1`,
      values: [project, key, attempt],
    },
    db.pool,
  );
  return rows.length > 0;
}

export async function purgeIdempotencyKeys(db: Database, limit = 1_000): Promise<number> {
  const rows = await db.run(
    {
      name: 'purge_idempotency_keys',
      text: `delete from troupe.idempotency_keys x where (x.project_id, x.key) in (select o.project_id, o.key from troupe.idempotency_keys o
          where o.created_at < now() - ${KEPT} order by o.created_at limit $1 for update skip locked) returning 1`,
      values: [limit],
    },
    db.pool,
  );
  return rows.length;
}
