-- breaking: false
-- Workers keep in memory for what budgets are set, and read what was added since they last looked.
alter table troupe.budgets add column xid bigint not null default pg_current_xact_id()::text::bigint;
create index budgets_xid on troupe.budgets (xid);
