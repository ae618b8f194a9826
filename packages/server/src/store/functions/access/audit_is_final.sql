-- Rejects every change to the audit log except inserts.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.audit_is_final() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only added to' using errcode = 'insufficient_privilege';
end $$;

create trigger audit_log_final before update or delete on troupe.audit_log for each row
  execute function troupe.audit_is_final();

create trigger audit_log_kept before truncate on troupe.audit_log for each statement
  execute function troupe.audit_is_final();
