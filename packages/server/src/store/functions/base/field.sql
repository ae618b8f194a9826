-- A field that is left out where there is nothing; what is within it stays as it is, nulls included.
create or replace function troupe.field(p_name text, p_value jsonb) returns jsonb language sql immutable parallel safe
  as $$
  select case when p_value is null or p_value = 'null' then '{}'::jsonb else jsonb_build_object(p_name, p_value) end
$$;
