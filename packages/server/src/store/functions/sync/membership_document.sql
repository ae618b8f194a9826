-- The document of a membership.
-- Locks: none.
-- Called by: troupe.capture_memberships, store/queries/sync-sources.ts, store/queries/sync.ts,
--   store/queries/triggers.ts.
create or replace function troupe.membership_document(m troupe.memberships) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', m.space_id || ':' || m.entity_id, 'spaceId', m.space_id,
    'entityId', m.entity_id, 'type', e.type,
    'name', coalesce(e.display_name, e.external_id), 'agentId', e.agent_id, 'role', m.role, 'ordering', m.ordering,
    'lastSeenMessageId', m.last_seen_message_id,
    'lastProcessedMessageId', m.last_processed_message_id, 'joinedAt', troupe.milliseconds(m.joined_at)))
  from (select 1) one left join troupe.entities e on e.id = m.entity_id
$$;
