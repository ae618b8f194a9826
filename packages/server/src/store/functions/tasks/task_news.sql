-- The text that an agent receives about a task that it does not wait for.
-- Locks: none.
-- Called by: troupe.tell_answer, troupe.tell_giver.
create or replace function troupe.task_news(t troupe.tasks, p_data jsonb) returns text language sql immutable as $$
  select format('Task %s (%s%s) ', t.id, t.name, case when t.sub_agent_id is null then '' else ', sub-agent '
    || t.sub_agent_id end)
    || case p_data->>'status'
      when 'waiting' then format(E'waits for an answer. The sub-agent asks:\n\n%s', p_data->>'question')
      when 'answered' then format(E'goes on: a person answered the sub-agent. It asked:\n\n%s\n\nThe answer:\n\n%s',
        p_data->>'question', p_data->>'answer')
      when 'success' then format(E'is done. Its result:\n\n%s', p_data->>'result')
      when 'failed' then format('failed: %s (%s)', p_data->'error'->>'message', p_data->'error'->>'code')
      else format('was canceled. %s', p_data->'error'->>'message') end
$$;
