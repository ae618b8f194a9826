-- Many starts in one round trip, in the order of their threads' ids (the lock order).
create or replace function troupe.start_many(items jsonb) returns jsonb language plpgsql as $$
declare
  verdicts jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(items)]);
  o int;
begin
  for o in select x.o from jsonb_array_elements(items) with ordinality x(v, o) order by (v->>'thread')::uuid, x.o loop
    verdicts[o] := troupe.start(items->(o-1));
  end loop;
  return to_jsonb(verdicts);
end $$;
