-- Writes the tombstone of a deleted row.
-- Locks: none.
-- Called by: trigger.
create or replace function troupe.bury() returns trigger language plpgsql as $$
begin
  case tg_table_name
    when 'sessions' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
        values ('sessions', old.id, old.project_id, old.entity_id, old.thread_id, old.id, old.xid)
          on conflict do nothing;
    when 'spaces' then
      insert into troupe.tombstones (collection, id, project_id, place_id, chat_id, was)
        values ('spaces', old.id, old.project_id, old.id, old.id, old.xid) on conflict do nothing;
    when 'memberships' then
      -- The space may be deleted by the same statement, so the project comes from the thread.
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was, born_at)
        select 'memberships', old.space_id || ':' || old.entity_id, t.project_id, old.entity_id, old.space_id,
          old.space_id, old.xid, old.joined_at
        from troupe.threads t where t.id = old.space_id on conflict do nothing;
    when 'tasks' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, chat_id, was)
        values ('tasks', old.id, old.project_id, old.user_id, old.chat_id, old.xid) on conflict do nothing;
    when 'sub_agents' then
      insert into troupe.tombstones (collection, id, project_id, entity_id, place_id, chat_id, was)
        values ('sub_agents', old.id, old.project_id, old.user_id, old.thread_id, old.chat_id, old.xid)
          on conflict do nothing;
  end case;
  return null;
end $$;

create trigger sessions_bury after delete on troupe.sessions for each row execute function troupe.bury();

create trigger spaces_bury after delete on troupe.spaces for each row execute function troupe.bury();

create trigger memberships_bury after delete on troupe.memberships for each row execute function troupe.bury();

create trigger tasks_bury after delete on troupe.tasks for each row execute function troupe.bury();

create trigger sub_agents_bury after delete on troupe.sub_agents for each row execute function troupe.bury();
