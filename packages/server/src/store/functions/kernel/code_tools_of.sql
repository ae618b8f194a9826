-- The code tools that a snapshot needs, sorted, or null. Code tools are functions that users register in some
-- processes; a run is only claimed by a worker that has all of them.
-- Locks: none.
-- Called by: troupe.find_code_tools.
create or replace function troupe.code_tools_of(compiled jsonb) returns text[]
  language sql immutable parallel safe as $$
  select nullif(array(select distinct t->'config'->>'function' from jsonb_array_elements(compiled->'tools') t
    where t->>'provider' = 'code' and t->'config' ? 'function' order by 1), '{}')
$$;
