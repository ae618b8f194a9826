-- Rejects every change to the audit log except inserts, and deletions that the audit rule of the project demands.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.audit_is_final() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform 1 from troupe.retention_rules x where x.project_id = old.project_id and x.agent_id is null
      and old.created_at < now() - make_interval(days => (x.rules->'audit'->>'deleteAfterDays')::int);
    if found then
      return old;
    end if;
  end if;
  raise exception 'the audit log is only added to' using errcode = 'insufficient_privilege';
end $$;

create trigger audit_log_final before update or delete on troupe.audit_log for each row
  execute function troupe.audit_is_final();

create trigger audit_log_kept before truncate on troupe.audit_log for each statement
  execute function troupe.audit_is_final();
