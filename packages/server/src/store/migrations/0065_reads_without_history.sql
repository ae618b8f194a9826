-- breaking: false
-- Lists and prompts that filter by a rare value read an index of that value, never the history of a project.
create index runs_live_of_agent on troupe.runs (entity_id, id desc)
  where door = 'space' and status in ('queued', 'running', 'waiting_tool', 'waiting_reply');
-- Only ended runs: an index over all would be written at every change of status.
create index runs_ended_of_agent on troupe.runs (agent_id, id desc) where status in ('completed', 'failed', 'canceled');
create index runs_unsuccessful on troupe.runs (project_id, id desc) where status in ('failed', 'canceled');
create index threads_failed on troupe.threads (project_id) where failed_run_id is not null;
drop index troupe.memberships_entity;
create index memberships_entity on troupe.memberships (entity_id, joined_at desc);
drop index troupe.tasks_project;
create index tasks_project on troupe.tasks (project_id, status, id desc);
drop index troupe.sub_agents_project;
create index sub_agents_project on troupe.sub_agents (project_id, status, id desc);
create index tasks_of_user on troupe.tasks (user_id, status, id desc);
create index sub_agents_of_user on troupe.sub_agents (user_id, status, id desc);
