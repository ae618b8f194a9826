import type { JsonObject } from '@troupe/protocol';
import { newId } from '../../base/index.ts';
import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';

/** How long an answer is kept. */
const KEPT = "interval '24 hours'";
/** A request without an answer after this was lost with its process. */
const STALE = "interval '1 minute'";

export type IdempotencyClaim =
  /**
   * Nobody was here before, or whoever was is gone. `since` shows later that the key is still ours; `made` is the id for what
   * the request makes, the same for whoever carries it out once more.
   */
  | { outcome: 'first'; since: string; made: string }
  | { outcome: 'answered'; status: number; body: JsonObject | null }
  | { outcome: 'under_way' }
  | { outcome: 'other_request' };

/**
 * One statement for the first request with a key, two for a repeated one. The first fingerprint is kept; a request that was kept by any of
 * them is the same.
 */
export async function claimIdempotencyKey(
  db: Database,
  project: string,
  key: string,
  fingerprints: readonly [Buffer, ...Buffer[]],
): Promise<IdempotencyClaim> {
  const made = newId();
  for (;;) {
    const [claimed] = await db.run<{ since: string; made: string }>(
      {
        name: 'claim_idempotency_key',
        text: `insert into troupe.idempotency_keys as k (project_id, key, fingerprint, body) values ($1, $2, $3, jsonb_build_object('made', $4::text))
          on conflict (project_id, key) do update
            set fingerprint = excluded.fingerprint, status = null, created_at = clock_timestamp(),
              body = case when k.status is null and k.fingerprint = any($5::bytea[]) then k.body else excluded.body end
            where k.created_at < now() - ${KEPT}
              or (k.status is null and k.created_at < now() - ${STALE} and k.fingerprint = any($5::bytea[]))
          returning created_at::text as since, body->>'made' as made`,
        values: [project, key, fingerprints[0], made, fingerprints],
      },
      db.pool,
    );
    if (claimed) return { outcome: 'first', since: claimed.since, made: claimed.made ?? made };
    const [found] = await db.run<{ same: boolean; status: number | null; body: JsonObject | null }>(
      {
        name: 'find_idempotency_key',
        text: `select fingerprint = any($3::bytea[]) as same, status, body from troupe.idempotency_keys
          where project_id = $1 and key = $2`,
        values: [project, key, fingerprints],
      },
      db.pool,
    );
    // Freed between the two statements: it is ours to claim after all.
    if (!found) continue;
    if (!found.same) return { outcome: 'other_request' };
    if (found.status === null) return { outcome: 'under_way' };
    return { outcome: 'answered', status: found.status, body: found.body };
  }
}

/** Keeps what the request was answered, unless somebody took the key over since. */
export async function answerIdempotencyKey(
  db: Database,
  project: string,
  key: string,
  since: string,
  answer: { status: number; body: JsonObject | null },
): Promise<void> {
  await db.run(
    {
      name: 'answer_idempotency_key',
      text: `update troupe.idempotency_keys set status = $4, body = $5::jsonb
        where project_id = $1 and key = $2 and created_at = $3::timestamptz`,
      values: [project, key, since, answer.status, answer.body && toJsonText(answer.body)],
    },
    db.pool,
  );
}

/** Nothing came of the request: the next one with this key is the first. */
export async function freeIdempotencyKey(
  db: Database,
  project: string,
  key: string,
  since: string,
): Promise<void> {
  await db.run(
    {
      name: 'free_idempotency_key',
      text: `delete from troupe.idempotency_keys where project_id = $1 and key = $2 and created_at = $3::timestamptz`,
      values: [project, key, since],
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
  project: string,
  key: string,
  since: string,
): Promise<void> {
  await db.run(
    {
      name: 'leave_idempotency_key',
      text: `update troupe.idempotency_keys set created_at = now() - ${STALE} - interval '1 second'
        where project_id = $1 and key = $2 and created_at = $3::timestamptz and status is null`,
      values: [project, key, since],
    },
    db.pool,
  );
}

/** Still under way: not stale for another minute. Answers the new `since`; null where the key was taken over. */
export async function holdIdempotencyKey(
  db: Database,
  project: string,
  key: string,
  since: string,
): Promise<string | null> {
  const rows = await db.run<{ since: string }>(
    {
      name: 'hold_idempotency_key',
      text: `update troupe.idempotency_keys set created_at = clock_timestamp()
        where project_id = $1 and key = $2 and created_at = $3::timestamptz and status is null
        returning created_at::text as since`,
      values: [project, key, since],
    },
    db.pool,
  );
  return rows[0]?.since ?? null;
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
