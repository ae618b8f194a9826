-- breaking: false
-- A task that was created from outside has no run and no call that gave it.
alter table troupe.tasks alter column parent_run_id drop not null, alter column parent_call_id drop not null;
