-- Advisory lock that a worker holds for as long as it lives.
create or replace function troupe.worker_lock(incarnation uuid) returns bigint language sql immutable as $$
  select hashtextextended('troupe.worker:' || incarnation::text, 0)
$$;
