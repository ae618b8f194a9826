-- breaking: false
-- Tasks: work that a run gave to somebody else, a sub-agent with a thread of its own or a tool. What is to be done stands in a run, as
-- everything that is done does; these rows say what it is for, and follow it by triggers.

-- Such a call waits for what the agent that gave the task says. People are asked by that agent, in the chat.
alter type troupe.waits_for add value 'answer';

-- In which order rows became what they are, for those who copy them: `xid` is of the transaction that wrote them last. A row whose
-- transaction is older than all that run is followed by no earlier one.
create function troupe.stamp_xid() returns trigger language plpgsql as $$
begin
  new.xid := pg_current_xact_id()::text::bigint;
  return new;
end $$;

create table troupe.tasks (
  id uuid primary key,
  project_id uuid not null,
  -- Whose work it is. Null: a network's that a key invoked.
  user_id uuid,
  -- The session or space in which its person talks; in a network, the run that was invoked.
  chat_id uuid not null,
  type text not null check (type in ('agent', 'tool')),
  name text not null check (length(name) between 1 and 300),
  instruction text not null,
  -- Of a tool.
  args jsonb,
  sub_agent_id uuid,
  trigger_message_id uuid,
  status text not null default 'pending' check (status in ('pending', 'running', 'waiting', 'success', 'failed', 'canceled')),
  result text,
  error jsonb,
  -- What was asked and has no answer yet.
  question text,
  -- Whoever gave it went on; its end and its questions are told in the parent's thread.
  background boolean not null default false,
  depth int not null check (depth >= 1),
  parent_task_id uuid,
  -- Who gave it, or spoke to it last.
  parent_run_id uuid not null,
  parent_call_id text not null,
  -- Who works on it, or worked on it last.
  run_id uuid not null,
  -- How often it has ended or asked: each is told once.
  told int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null,
  check (type = 'agent' or sub_agent_id is null),
  check (status <> 'waiting' or question is not null)
);
create index tasks_chat on troupe.tasks (chat_id, id desc);
create index tasks_project on troupe.tasks (project_id, id desc);
create index tasks_user on troupe.tasks (user_id, xid);
create index tasks_trigger_message on troupe.tasks (trigger_message_id);
create index tasks_parent on troupe.tasks (parent_task_id) where parent_task_id is not null;
create index tasks_run on troupe.tasks (run_id);
create trigger tasks_stamp before insert or update on troupe.tasks for each row execute function troupe.stamp_xid();

create table troupe.sub_agents (
  id uuid primary key,
  project_id uuid not null,
  user_id uuid,
  chat_id uuid not null,
  task_id uuid not null references troupe.tasks on delete cascade,
  agent_id uuid not null,
  -- The agent's name when it began.
  role text not null,
  thread_id uuid not null unique,
  status text not null default 'active' check (status in ('active', 'waiting_for_user', 'completed', 'failed')),
  -- Model calls of the runs that are over; those of the one at work are in its head.
  iteration_count int not null default 0,
  summary text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  xid bigint not null
);
create unique index sub_agents_task on troupe.sub_agents (task_id);
create index sub_agents_user on troupe.sub_agents (user_id, xid);
create index sub_agents_project on troupe.sub_agents (project_id, id desc);
create trigger sub_agents_stamp before insert or update on troupe.sub_agents for each row execute function troupe.stamp_xid();

-- The task that a run works on.
alter table troupe.runs add column task_id uuid;
create index runs_task on troupe.runs (task_id, id) where task_id is not null;
