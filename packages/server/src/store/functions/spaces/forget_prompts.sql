-- Deletes stored prompts that quote a deleted space.
-- Locks: the deleted prompts.
-- Called by: trigger.
create or replace function troupe.forget_prompts() returns trigger language plpgsql as $$
begin
  delete from troupe.run_prompts x where x.space_id = old.id;
  return null;
end $$;

create trigger spaces_forget_prompts after delete on troupe.spaces for each row
  execute function troupe.forget_prompts();
