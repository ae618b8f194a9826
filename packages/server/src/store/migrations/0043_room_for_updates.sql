-- breaking: false
-- A call is inserted when it is requested and updated when it ends, with its output. Half of each page stays free, so
-- that the update is heap-only: at 70 a third of the updates moved to another page and wrote the index again.
alter table troupe.tool_calls set (fillfactor = 50);
