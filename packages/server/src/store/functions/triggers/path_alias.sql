-- A path with the external id of its user in place of the entity id; null if the path has no user or the user has no
-- external id. A slash in the external id is written as %2F.
-- Locks: none.
-- Called by: troupe.capture, store/queries/triggers.ts.
create or replace function troupe.path_alias(p_path text) returns text language sql stable as $$
  select 'users/' || replace(e.external_id, '/', '%2F') || substr(p_path, 43) from troupe.entities e
    where p_path ~ '^users/[0-9a-f-]{36}/' and e.id = case when p_path ~ '^users/[0-9a-f-]{36}/'
      then substr(p_path, 7, 36)::uuid end
$$;
