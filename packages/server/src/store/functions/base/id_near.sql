-- Derives an id from a key, with the timestamp of another id, so that repetitions of an action produce the same id.
-- Locks: none.
-- Called by: troupe.request_notice, troupe.tell_answer, troupe.tell_giver.
create or replace function troupe.id_near(p_key text, p_near uuid) returns uuid language sql immutable as $$
  select (left(p_near::text, 13) || '-8' || substr(d, 14, 3) || '-a' || substr(d, 18, 3) || '-'
    || substr(d, 21, 12))::uuid
  from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as d) x
$$;
