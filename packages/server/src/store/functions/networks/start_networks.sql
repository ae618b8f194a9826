-- start_many for runs of networks: what they run and what was sealed for them is there before anybody can take them.
create or replace function troupe.start_networks(items jsonb) returns jsonb language plpgsql as $$
declare
  verdicts jsonb := troupe.start_many(items);
begin
  update troupe.runs r
    set network_id = (x.run->'network'->>'id')::uuid, network_version = (x.run->'network'->>'version')::int,
      sealed = nullif(x.run->'network'->'sealed', 'null')
    from (select v->'run' as run from jsonb_array_elements(items) v where v->'run' ? 'network') x
    where r.id = (x.run->>'id')::uuid and r.network_id is null;
  return verdicts;
end $$;
