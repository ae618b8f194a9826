-- Adds messages to what an agent has seen, and advances the point up to which it has seen everything. Its own messages
-- count as seen.
-- Locks: the membership.
-- Called by: troupe.tell_spaces.
create or replace function troupe.see(p_space uuid, p_entity uuid, p_seqs int8multirange) returns void
  language plpgsql as $$
declare
  known int8multirange; upto bigint; next bigint; joined bigint;
begin
  select m.seen + p_seqs, m.last_processed_seq, m.joined_seq into known, upto, joined from troupe.memberships m
    where m.space_id = p_space and m.entity_id = p_entity for no key update;
  if not found then
    return;
  end if;
  loop
    select upper(r) - 1 into next from unnest(known) r where r @> (upto + 1);
    if not found then
      select m.seq into next from troupe.messages m where m.thread_id = p_space and m.seq = upto + 1
        and m.sender_id = p_entity;
      exit when not found;
    end if;
    upto := next;
  end loop;
  update troupe.memberships m set seen = known, last_processed_seq = upto,
    last_processed_message_id = case when upto > m.last_processed_seq
      then (select x.id from troupe.messages x where x.thread_id = p_space and x.seq = upto)
      else m.last_processed_message_id end
    where m.space_id = p_space and m.entity_id = p_entity;
end $$;
