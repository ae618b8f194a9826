-- breaking: false
-- Where the row of messages begins that this run's trigger ends, if all of them start runs that wait for their turn.
alter table troupe.runs add queued_from bigint;
