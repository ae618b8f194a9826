-- Stores the code tools that a new snapshot needs, sorted, or null. Code tools are functions that users register in
-- some processes; a run is only claimed by a worker that has all of them.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.find_code_tools() returns trigger language plpgsql as $$
begin
  new.code_tools := nullif(array(select distinct t->'config'->>'function' from jsonb_array_elements(
    new.compiled->'tools') t where t->>'provider' = 'code' and t->'config' ? 'function' order by 1), '{}');
  return new;
end $$;

create trigger compiled_snapshots_code_tools before insert on troupe.compiled_snapshots for each row
  execute function troupe.find_code_tools();
