-- breaking: false
-- Tools that belong to one agent. Their names are unique within the agent; those of the others within the project.
-- The constraint is deferred because the tools of a new agent are written before the agent, whose snapshot has their
-- ids.
alter table troupe.tools add column agent_id uuid references troupe.agents (id) deferrable initially deferred;
drop index troupe.tools_name;
create unique index tools_name on troupe.tools (project_id, lower(name)) where agent_id is null;
create unique index tools_name_of_agent on troupe.tools (agent_id, lower(name)) where agent_id is not null;
