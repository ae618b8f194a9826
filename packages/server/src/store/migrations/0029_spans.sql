-- breaking: false
-- What spans are made of.

-- A run that is taken up again after it had ended is another activation, whose span is another one.
alter table troupe.runs add column lives integer not null default 1;

create function troupe.live_again() returns trigger language plpgsql as $$
begin
  new.lives := old.lives + 1;
  return new;
end $$;

create trigger runs_live_again before update of status on troupe.runs for each row
  when (old.status in ('failed', 'canceled') and new.status = 'queued') execute function troupe.live_again();

-- Runs that failed or were canceled, which happens in many places and often where no worker has the run, for whoever tells of them. Those
-- that complete are told of by their worker and are not noted here.
create unlogged table troupe.ended_runs (
  run_id uuid not null,
  lives integer not null,
  ended_at timestamptz not null default now(),
  primary key (run_id, lives)
);
-- They are taken, and given up, by their time.
create index ended_runs_oldest on troupe.ended_runs (ended_at);

create function troupe.note_end() returns trigger language plpgsql as $$
begin
  insert into troupe.ended_runs (run_id, lives) values (new.id, new.lives) on conflict do nothing;
  return null;
end $$;

create trigger runs_note_end after update of status on troupe.runs for each row
  when (new.status in ('failed', 'canceled') and old.status <> new.status) execute function troupe.note_end();
