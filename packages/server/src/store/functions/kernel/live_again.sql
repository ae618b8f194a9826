-- Counts the lives of a run: a retry is another activation, with a span of its own.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.live_again() returns trigger language plpgsql as $$
begin
  new.lives := old.lives + 1;
  return new;
end $$;

create trigger runs_live_again before update of status on troupe.runs for each row
  when (old.status in ('failed', 'canceled') and new.status = 'queued') execute function troupe.live_again();
