-- Returns a UUID v7 for a row that a function creates. Rows that the program creates bring their id. PostgreSQL 15 has
-- no uuidv7().
-- Locks: none.
-- Called by: troupe.answer_task, troupe.append, troupe.fork, troupe.hand_up, troupe.join_child, troupe.member_entity,
--   troupe.post_to_space, troupe.reply_to_task, store/queries/sessions.ts.
create or replace function troupe.new_id() returns uuid language sql volatile as $$
  select encode(
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    || set_byte(substring(r from 1 for 2), 0, (get_byte(r, 0) & 15) | 112)
    || set_byte(substring(r from 3 for 8), 0, (get_byte(r, 2) & 63) | 128), 'hex')::uuid
  from (select uuid_send(gen_random_uuid()) as r offset 0) x
$$;
