-- The collections, and the tables that their documents are made of. Two share one: there the document is null for rows
-- of the other.
create or replace function troupe.collections() returns table (name text, source text) language sql immutable as $$
  values ('tasks', 'tasks'), ('sub_agents', 'sub_agents'), ('sub_agent_messages', 'messages'),
    ('sub_agent_tool_calls', 'tool_calls'), ('sessions', 'sessions'),
    ('messages', 'messages'), ('spaces', 'spaces'), ('memberships', 'memberships'), ('runs', 'runs')
$$;
