-- The id under which documents know a call: what models call theirs is unique within a run only.
create or replace function troupe.call_document_id(p_run uuid, p_call text) returns text
  language sql immutable parallel safe as $$
  select troupe.id_from(p_run || ':' || p_call)::text
$$;
