create or replace function troupe.membership_path(m troupe.memberships) returns text language sql stable as $$
  select 'spaces/' || m.space_id || '/memberships' $$;
