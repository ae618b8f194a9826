import type pg from 'pg';

/** From now on, requests with the keys in `public.lost_answers` have their effect, and their answers are not kept. */
export async function loseAnswers(pool: pg.Pool): Promise<void> {
  await pool.query(`create table public.lost_answers (key text primary key);
    create function public.is_lost(key text) returns boolean language sql as
      'select exists (select from public.lost_answers l where l.key = is_lost.key)';
    alter table troupe.idempotency_keys add constraint answer_is_lost check (status is null or not public.is_lost(key))`);
}
