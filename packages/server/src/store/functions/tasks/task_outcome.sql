-- The result that a call receives from the run that it waited for. Output above p_most bytes is an error.
-- Locks: none.
-- Called by: troupe.join_child.
create or replace function troupe.task_outcome(child troupe.runs, p_most bigint) returns jsonb
  language plpgsql stable as $$
declare
  given jsonb; sub uuid; who text := '';
begin
  if child.task_id is not null then
    select t.sub_agent_id into sub from troupe.tasks t where t.id = child.task_id;
    who := format(' (sub-agent %s)', sub);
  end if;
  case child.status
    when 'completed' then
      given := case when child.task_id is not null
        then jsonb_build_object('status', 'success', 'taskId', child.task_id, 'subAgentId', sub,
        'result', child.outcome->'text')
        when child.outcome ? 'response' then child.outcome->'response' when child.outcome ? 'output'
        then child.outcome->'output'
        else child.outcome->'text' end;
      if octet_length(given::text) > p_most then
        return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'output_too_large',
          'message', format('The task%s ended with %s bytes; at most %s are taken. Ask for less.', who,
            octet_length(given::text), p_most)));
      end if;
      return jsonb_build_object('status', 'completed', 'output', coalesce(given, 'null'));
    when 'failed' then
      return jsonb_build_object('status', 'failed',
        'error', jsonb_build_object('code', coalesce(child.error->>'code', 'task_failed'),
        'message', format('The task%s failed: ', who) || coalesce(child.error->>'message', 'it did not say why.')));
    else
      return jsonb_build_object('status', 'failed', 'error', jsonb_build_object('code', 'task_canceled',
        'message', format('The task%s was canceled (%s) before it ended.', who, child.cancel_reason)));
  end case;
end $$;
