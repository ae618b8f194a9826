-- breaking: false
-- Stamps continue in their order after a restore into a cluster with other transaction ids.
alter table troupe.budgets alter xid set default troupe.stamp();
alter table troupe.memberships alter xid set default troupe.stamp(), alter joined_xid set default troupe.stamp();
alter table troupe.messages alter xid set default troupe.stamp();
alter table troupe.runs alter xid set default troupe.stamp();
alter table troupe.sessions alter xid set default troupe.stamp();
alter table troupe.spaces alter xid set default troupe.stamp();
alter table troupe.tombstones alter xid set default troupe.stamp();
alter table troupe.tool_calls alter xid set default troupe.stamp();
