-- The last messages up to a sequence number, as an agent reads them. Images are only counted. p_units limits the length
-- in characters, because a message that was cut off was not shown; the newest message is always included.
-- Locks: none.
-- Called by: troupe.enter_space, troupe.read_space, store/queries/in-spaces.ts.
create or replace function troupe.space_history(p_space uuid, p_entity uuid, p_upto bigint, p_limit int, p_units int)
  returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'seq', m.seq, 'role', m.role, 'content', m.content - 'parts',
    'pictures', (select count(*) from jsonb_array_elements(m.content->'parts') x where x->>'type' = 'image'),
    'senderId', m.sender_id, 'senderName', coalesce(e.display_name, e.external_id), 'senderType', e.type,
    'runId', m.run_id, 'metadata', m.metadata, 'createdAt', m.created_at,
    'seen', m.sender_id is not distinct from p_entity or coalesce(s.seen @> m.seq, false)) order by m.seq), '[]')
  from (select n.*, sum(least(length(n.content->>'text'),
    10000) + coalesce(length(n.metadata::text), 0) + 300) over (order by n.seq desc) as units,
    row_number() over (order by n.seq desc) as place
      from (select * from troupe.messages x where x.thread_id = p_space and x.seq <= p_upto order by x.seq desc
        limit p_limit) n) m
    left join troupe.entities e on e.id = m.sender_id
    left join troupe.memberships s on s.space_id = p_space and s.entity_id = p_entity
  where m.units <= p_units or m.place = 1
$$;
