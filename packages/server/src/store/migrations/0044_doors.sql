-- breaking: false
-- What each door hands over for the case that its runs are changed without a worker. Workers write the rows of their
-- doors when they start. Runs that exist already need the row of theirs before that.
create table troupe.doors (
  name text primary key,
  -- Types of events that precede run.canceled.
  cancel_events text[] not null
);
insert into troupe.doors (name, cancel_events) values ('session', '{session.canceled}');
