-- The document of a space.
-- Locks: none.
-- Called by: troupe.capture_spaces, store/queries/sync-sources.ts, store/queries/triggers.ts.
create or replace function troupe.space_document(s troupe.spaces) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', s.id, 'name', s.name, 'description', s.description,
    'policy', s.policy, 'chainDepth', s.chain_depth,
    'agentRuns', s.agent_runs, 'createdAt', troupe.milliseconds(s.created_at),
    'updatedAt', troupe.milliseconds(s.updated_at)))
    || jsonb_build_object('metadata', s.metadata)
$$;
