-- Claims due deliveries of enabled rules. Deliveries of one rule and document go one after the other, and none goes
-- before an earlier change of the document is evaluated. The attempt counts from here: if the process dies, the lease
-- expires and the next attempt has the same id. Rules with a rate claim at most that many per minute. p_busy lists
-- rules at their concurrency limit.
-- Locks: the claimed deliveries, skipping locked ones.
-- Called by: store/queries/deliveries.ts.
create or replace function troupe.claim_deliveries(p_limit int, p_own boolean, p_others boolean, p_busy uuid[])
  returns setof troupe.trigger_deliveries
language plpgsql as $$
begin
  return query
  with limited as materialized (
    select t.id, (t.definition->>'ratePerMinute')::int - (select count(*) from troupe.trigger_deliveries x
        where x.trigger_id = t.id and (x.status = 'sending' and x.lease_until > now() or x.status = 'delivered'
          and x.ended_at > now() - interval '1 minute')) as room
    from troupe.triggers t where t.enabled and t.definition->>'ratePerMinute' is not null),
  due as materialized (
    select d.id, row_number() over (partition by d.trigger_id order by coalesce(d.next_attempt_at, d.lease_until),
      d.id) as place, l.room
    from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id and t.enabled
      left join limited l on l.id = d.trigger_id
    where coalesce(l.room, 1) > 0 and (d.status = 'pending' and d.next_attempt_at <= now() or d.status = 'sending'
      and d.lease_until <= now())
      and (d.own and p_own or not d.own and p_others) and d.trigger_id <> all (p_busy)
      and not exists (select from troupe.trigger_deliveries x where x.trigger_id = d.trigger_id and x.path = d.path
        and x.change_id < d.change_id
        and x.status in ('pending', 'sending'))
      and not exists (select from troupe.changes c where c.path = d.path and c.id < d.change_id)
    order by coalesce(d.next_attempt_at, d.lease_until) limit p_limit),
  free as materialized (
    select d.id from troupe.trigger_deliveries d join due on due.id = d.id where due.room is null
      or due.place <= due.room for update of d skip locked),
  taken as (
    update troupe.trigger_deliveries d set status = 'sending', attempts = d.attempts + 1, next_attempt_at = null,
      lease_until = now() + make_interval(secs => (v.definition->>'timeoutMs')::float8 / 1000 + 15)
    from free, troupe.trigger_versions v
    where d.id = free.id and v.trigger_id = d.trigger_id and v.version = d.action_version
      -- Another process may have claimed it between the read and the lock.
      and (d.status = 'pending' or d.lease_until <= now())
    returning d as d),
  noted as (
    insert into troupe.trigger_attempts (delivery_id, attempt) select (t.d).id, (t.d).attempts from taken t)
  select (jsonb_populate_record(t.d, jsonb_build_object('before', coalesce((t.d).before, c.before),
      'after', coalesce((t.d).after, c.after)))).*
    from taken t left join troupe.change_documents c on c.change_id = (t.d).change_id;
end $$;
