-- breaking: false
-- A person can answer the question of a sub-agent; the agent that gave the task is told by a join.
alter table troupe.joins drop constraint joins_what_check;
alter table troupe.joins add constraint joins_what_check
  check (what in ('event', 'question', 'end', 'cancel', 'delete', 'answered'));
