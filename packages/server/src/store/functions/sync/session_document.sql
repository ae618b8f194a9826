-- The document of a session.
-- Locks: none.
-- Called by: troupe.capture_sessions, store/queries/sync-sources.ts, store/queries/sync.ts, store/queries/triggers.ts.
create or replace function troupe.session_document(s troupe.sessions) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', s.id, 'userId', s.entity_id, 'agentId', s.agent_id,
    'title', s.title, 'modelId', s.model_id, 'policy', s.policy,
    'createdAt', troupe.milliseconds(s.created_at), 'updatedAt', troupe.milliseconds(s.updated_at)))
    || jsonb_build_object('tags', s.tags, 'metadata', s.metadata)
$$;
