-- Stores the prompt of a step and, in the same statement, which messages of the space it shows.
-- Locks: the head of the run, shared.
-- Called by: store/queries/in-spaces.ts.
create or replace function troupe.keep_prompt(p_run uuid, p_epoch int, p_worker uuid, p_step int, p_system text,
  p_space uuid, p_from bigint, p_upto bigint)
returns boolean language plpgsql as $$
begin
  if not troupe.has_run(p_run, p_epoch, p_worker) then
    return false;
  end if;
  insert into troupe.run_prompts as x (run_id, step, space_id, system) values (p_run, p_step, p_space, p_system)
    on conflict (run_id, step) do update set space_id = excluded.space_id, system = excluded.system,
    created_at = excluded.created_at;
  return p_from is null or troupe.show_prompt(p_run, p_epoch, p_worker, p_space, p_from, p_upto);
end $$;
