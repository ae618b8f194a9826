-- Records the outcome of an attempt. Disables the rule after p_most dead deliveries in a row, or if the receiver
-- answered 410. After its lease expired, an attempt can only report success.
-- Locks: the rule, then the delivery, in the order of a rule's deletion; then the documents of an erased change.
-- Called by: store/queries/deliveries.ts.
create or replace function troupe.end_attempt(p_delivery uuid, p_attempt int, p_outcome jsonb, p_most int) returns jsonb
  language plpgsql as $$
declare
  d troupe.trigger_deliveries; t troupe.triggers; v_status text := p_outcome->>'status'; reason text;
begin
  -- The rule before the delivery, in the order of a rule's deletion.
  select x.* into t from troupe.triggers x
    where x.id = (select y.trigger_id from troupe.trigger_deliveries y where y.id = p_delivery) for no key update;
  select * into d from troupe.trigger_deliveries x where x.id = p_delivery for no key update;
  if d.id is null then
    return '{"ok": false}';
  end if;
  update troupe.trigger_attempts a set duration_ms = (p_outcome->>'durationMs')::int, request = p_outcome->'request',
    response = case when d.erased and p_outcome->'response' ? 'body' then (p_outcome->'response') - 'body'
      else p_outcome->'response' end, error = p_outcome->'error'
    where a.delivery_id = p_delivery and a.attempt = p_attempt and a.duration_ms is null;
  if (d.attempts <> p_attempt or d.status <> 'sending')
      and not (v_status = 'delivered' and d.status in ('pending', 'sending') and p_attempt > d.attempts_before
        and p_attempt <= d.attempts) then
    return '{"ok": false}';
  end if;
  update troupe.trigger_deliveries x set status = v_status, lease_until = null,
    -- A postponed attempt does not count.
    attempts = x.attempts - case when (p_outcome->>'putOff')::boolean then 1 else 0 end,
    next_attempt_at = case when v_status = 'pending'
      then now() + make_interval(secs => (p_outcome->>'delayMs')::float8 / 1000) end,
    ended_at = case when v_status <> 'pending' then now() end,
    before = case when v_status = 'pending' or not x.erased then x.before end,
    after = case when v_status = 'pending' or not x.erased then x.after end,
    error = case when v_status = 'delivered' then null else coalesce(p_outcome->'error', x.error) end,
    result = coalesce(p_outcome->'result', x.result)
    where x.id = p_delivery;
  if d.erased and v_status <> 'pending' then
    -- Of deliveries that end at the same time, the last one deletes the documents.
    perform from troupe.change_documents c where c.change_id = d.change_id for update;
    delete from troupe.change_documents c where c.change_id = d.change_id and not exists (
      select from troupe.trigger_deliveries x where x.change_id = d.change_id and x.ended_at is null);
  end if;
  if (p_outcome->>'putOff')::boolean then
    delete from troupe.trigger_attempts a where a.delivery_id = p_delivery and a.attempt = p_attempt;
  elsif v_status = 'delivered' and t.dead_in_row > 0 then
    update troupe.triggers x set dead_in_row = 0 where x.id = t.id;
  elsif v_status = 'dead' then
    reason := case when (p_outcome->>'gone')::boolean then 'The receiver answered 410: it is gone for good.'
      when t.dead_in_row + 1 >= p_most
      then format('%s deliveries in a row were given up; the last: %s', t.dead_in_row + 1,
      p_outcome->'error'->>'message') end;
    update troupe.triggers x set dead_in_row = x.dead_in_row + 1 where x.id = t.id;
    if reason is not null and t.enabled then
      update troupe.triggers x set enabled = false, disabled_reason = reason, updated_at = now() where x.id = t.id;
      insert into troupe.audit_log (project_id, actor_kind, action, target, data)
        values (t.project_id, 'system', 'trigger.disabled', t.id::text,
          jsonb_build_object('name', t.name, 'reason', reason));
      return jsonb_build_object('ok', true, 'disabled', reason);
    end if;
  end if;
  return '{"ok": true}';
end $$;
