-- breaking: false
-- Delivered ones expire after 7 days, dead letters after 30: a purge of the former must not read the latter.
drop index troupe.trigger_deliveries_ended;
create index trigger_deliveries_ended on troupe.trigger_deliveries (status, ended_at)
  where status = any (array['delivered', 'dead']);
