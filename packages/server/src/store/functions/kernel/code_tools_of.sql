-- Code tools are functions that a user registered in some processes. A snapshot says which it needs; a run is taken
-- only by a worker that has all of them.
create or replace function troupe.code_tools_of(compiled jsonb) returns text[] language sql immutable parallel safe
  as $$
  select nullif(array(select distinct t->'config'->>'function' from jsonb_array_elements(compiled->'tools') t
    where t->>'provider' = 'code' and t->'config' ? 'function' order by 1), '{}')
$$;
