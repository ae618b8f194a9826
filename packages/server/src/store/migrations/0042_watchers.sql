-- breaking: true
-- Threads that show what becomes of a run, beside its own: null for most runs. A function that changes the status of a
-- run locks them first; the doors that write there keep the list.
alter table troupe.runs add column watchers uuid[];
update troupe.runs r set watchers = array(
    select x from unnest(array[r.space_id, r.active_space_id]) x where x is not null
    union select s.space_id from troupe.run_shown s where s.run_id = r.id)
  where r.space_id is not null or r.active_space_id is not null
    or exists (select from troupe.run_shown s where s.run_id = r.id);
