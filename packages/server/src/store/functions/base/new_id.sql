-- The hot path: what a worker writes about the runs it holds. One call carries the commits of many runs. Lock order,
-- here and everywhere: runs by id, their heads by id, then tool calls, then threads by id. Only then read, then write.
-- The functions are volatile, so every statement sees what was committed before it began, locks included; a single
-- statement would decide from the snapshot it opened with, before it waited for the lock. UUID v7 for rows that a
-- function makes; rows made by the program bring their id along.
create or replace function troupe.new_id() returns uuid language sql volatile as $$
  select encode(
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    || set_byte(substring(r from 1 for 2), 0, (get_byte(r, 0) & 15) | 112)
    || set_byte(substring(r from 3 for 8), 0, (get_byte(r, 2) & 63) | 128), 'hex')::uuid
  from (select uuid_send(gen_random_uuid()) as r offset 0) x
$$;
