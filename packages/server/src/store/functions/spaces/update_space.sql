-- Changes fields of a space. Unchanged values write no event.
-- Locks: the thread of the space.
-- Called by: store/queries/spaces.ts.
create or replace function troupe.update_space(p_project uuid, p_space uuid, p_by uuid, p_changes jsonb) returns jsonb
  language plpgsql as $$
declare
  refused text := troupe.lock_space(p_project, p_space, p_by);
  old troupe.spaces; new troupe.spaces; fields jsonb;
begin
  if refused is not null then
    return jsonb_build_object('ok', false, 'code', refused);
  end if;
  select * into old from troupe.spaces s where s.id = p_space;
  new := jsonb_populate_record(old, p_changes);
  select coalesce(jsonb_agg(distinct case when key in ('chain_depth', 'agent_runs') then 'limits' else key end), '[]')
    into fields
    from jsonb_object_keys(p_changes) key where to_jsonb(new)->key is distinct from to_jsonb(old)->key;
  if fields <> '[]' then
    update troupe.spaces s set name = new.name, description = new.description, policy = new.policy,
      chain_depth = new.chain_depth, agent_runs = new.agent_runs,
      metadata = new.metadata, updated_at = now() where s.id = p_space;
    perform troupe.append(p_space, null, null,
      jsonb_build_array(jsonb_build_object('type', 'space.updated',
        'data', jsonb_build_object('name', new.name, 'policy', new.policy, 'fields', fields))));
  end if;
  return jsonb_build_object('ok', true, 'changed', fields <> '[]');
end $$;
