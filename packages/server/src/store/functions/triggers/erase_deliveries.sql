-- Erases images and response bodies of deliveries when their chat or person is deleted. Unfinished deliveries keep the
-- images until they end.
-- Locks: the deliveries, their attempts, the documents of their changes.
-- Called by: trigger.
create or replace function troupe.erase_deliveries() returns trigger language plpgsql as $$
begin
  with erased as (
    update troupe.trigger_deliveries d set erased = true, before = case when d.ended_at is null then d.before end,
      after = case when d.ended_at is null then d.after end
      where tg_table_name = 'entities' and d.user_id = old.id or tg_table_name <> 'entities' and d.chat_id = old.id
        returning d.id)
  update troupe.trigger_attempts a set response = a.response - 'body' from erased where a.delivery_id = erased.id
    and a.response ? 'body';
  -- A statement of its own: it sees deliveries that ended while this one waited for them.
  delete from troupe.change_documents c using troupe.trigger_deliveries d where c.change_id = d.change_id
    and (tg_table_name = 'entities' and d.user_id = old.id or tg_table_name <> 'entities' and d.chat_id = old.id)
    and not exists (select from troupe.trigger_deliveries x where x.change_id = c.change_id and x.ended_at is null);
  return null;
end $$;

create trigger sessions_erase after delete on troupe.sessions for each row execute function troupe.erase_deliveries();

create trigger spaces_erase after delete on troupe.spaces for each row execute function troupe.erase_deliveries();

create trigger entities_erase after delete on troupe.entities for each row execute function troupe.erase_deliveries();
