-- breaking: false
-- The documents of a change, once for all its deliveries. Deliveries are updated with every attempt, and an update
-- writes the whole row: with the documents in it, each was stored three times until the next vacuum.
create table troupe.change_documents (change_id bigint primary key, before jsonb, after jsonb);
create index trigger_deliveries_change on troupe.trigger_deliveries (change_id);
