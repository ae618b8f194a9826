-- breaking: false
-- What lists, sums and pages about the whole project are read from. None of it is written while a run is at work: the index of what has
-- ended gets one entry with the end of a run, and that of sessions one with their beginning.

-- Sums and lists of what failed are read from the index alone.
create index runs_ended on troupe.runs (project_id, status, (coalesce(completed_at, canceled_at)))
  include (id, agent_id, network_id, created_at, completed_at, canceled_at, input_tokens, output_tokens, cost)
  where status in ('completed', 'failed', 'canceled');

-- What was used in hours and days that are over: summed when somebody first asks for them, and kept. It stays when what was summed is
-- deleted.
create table troupe.usage_sums (
  project_id uuid not null,
  every text not null check (every in ('hour', 'day')),
  at timestamptz not null,
  sums jsonb not null,
  primary key (project_id, every, at)
);

create index sessions_project on troupe.sessions (project_id, created_at desc);

-- By the clock of the database, for people: workers judge each other by the count of beats and clocks of their own.
alter table troupe.workers add column beat_at timestamptz not null default now();

-- What a run in a space is told is made of what there is at that moment, and cannot be made again. The step is the first that was taken
-- with it: whoever takes the run over makes a new one. It quotes what was said in the space, and goes with it.
create table troupe.run_prompts (
  run_id uuid not null,
  step integer not null,
  space_id uuid,
  system text not null,
  created_at timestamptz not null default now(),
  primary key (run_id, step)
);
create index run_prompts_space on troupe.run_prompts (space_id) where space_id is not null;
create index run_prompts_age on troupe.run_prompts using brin (created_at) with (pages_per_range = 16, autosummarize = on);

create function troupe.forget_prompts() returns trigger language plpgsql as $$
begin
  delete from troupe.run_prompts x where x.space_id = old.id;
  return null;
end $$;
create trigger spaces_forget_prompts after delete on troupe.spaces for each row execute function troupe.forget_prompts();

-- With the same statement that notes what it shows.
create function troupe.keep_prompt(p_run uuid, p_epoch int, p_worker uuid, p_step int, p_system text, p_space uuid, p_from bigint, p_upto bigint)
returns boolean language plpgsql as $$
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  insert into troupe.run_prompts as x (run_id, step, space_id, system) values (p_run, p_step, p_space, p_system)
    on conflict (run_id, step) do update set space_id = excluded.space_id, system = excluded.system, created_at = excluded.created_at;
  return p_from is null or troupe.show_prompt(p_run, p_epoch, p_worker, p_space, p_from, p_upto);
end $$;
