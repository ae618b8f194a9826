-- Writes status changes of a run to the space it began in and the space it speaks in. A completed run has seen what it
-- was shown; an absorbed run leaves it to the absorber.
-- Locks: the threads of the spaces by id, the memberships. The caller holds the threads by troupe.lock_watchers.
-- Called by: trigger.
create or replace function troupe.tell_spaces() returns trigger language plpgsql as $$
declare
  ended boolean := new.status in ('completed', 'failed', 'canceled');
  types text[] := case
    when new.status = 'running' and old.started_at is null then '{run.started,agent.active}'
    when new.status = 'running' then '{run.resumed}'
    when new.status = 'waiting_tool' then '{run.waiting_tool}'
    when new.status = 'waiting_reply' then '{run.waiting_reply}'
    when new.status = 'queued' and old.status in ('failed', 'canceled') then '{run.queued,agent.active}'
    when new.status = 'completed' then '{run.completed,agent.inactive}'
    when new.status = 'failed' then '{run.failed,agent.inactive}'
    when new.status = 'canceled' then array[case when new.absorbed_by is null then 'run.canceled'
      else 'run.absorbed' end, 'agent.inactive'] end;
  about jsonb; space uuid; shown record;
begin
  if types is not null and (new.space_id is not null or new.active_space_id is not null) then
    about := jsonb_build_object('entityId', new.entity_id, 'agentName', (select e.display_name from troupe.entities e
      where e.id = new.entity_id))
      || case new.status when 'failed'
        then jsonb_build_object('code', new.error->'code', 'message', new.error->'message')
        when 'canceled' then jsonb_strip_nulls(jsonb_build_object('reason', new.cancel_reason,
          'absorbedBy', new.absorbed_by))
        when 'completed' then jsonb_build_object('silent', coalesce(new.outcome->'silent', 'false')) else '{}' end;
    for space in select s.id from troupe.spaces s where s.id in (new.space_id, new.active_space_id) order by s.id loop
      perform troupe.append(space, new.id, null, (select jsonb_agg(jsonb_build_object('type', t, 'data', about))
        from unnest(types) t));
    end loop;
  end if;
  if not ended then
    return null;
  end if;
  delete from troupe.reply_waits w where w.run_id = new.id;
  if new.status = 'completed' then
    for shown in select x.space_id, x.seqs from troupe.run_shown x where x.run_id = new.id order by x.space_id loop
      perform troupe.see(shown.space_id, new.entity_id, shown.seqs);
    end loop;
  elsif new.absorbed_by is not null then
    -- The absorber takes over what the run was shown and the messages that it had to answer.
    insert into troupe.run_shown as x (run_id, space_id, seqs)
      select new.absorbed_by, t.space_id, range_agg(t.seqs) from (
        select y.space_id, y.seqs from troupe.run_shown y where y.run_id = new.id
        union all
        select new.space_id, int8multirange(int8range((new.trigger->>'sequence')::bigint,
          (new.trigger->>'sequence')::bigint, '[]'))
          where new.space_id is not null and new.trigger ? 'sequence'
        union all
        select m.thread_id, int8multirange(int8range(m.seq, m.seq, '[]')) from troupe.folded_messages f
          join troupe.messages m on m.id = f.message_id
          where f.run_id = new.id) t
      group by t.space_id
      on conflict (run_id, space_id) do update set seqs = x.seqs + excluded.seqs;
    perform troupe.watch(new.absorbed_by, w) from unnest(new.watchers) w;
  end if;
  return null;
end $$;

create trigger runs_tell after update on troupe.runs for each row
  when (new.watchers is not null and new.status is distinct from old.status) execute function troupe.tell_spaces();
