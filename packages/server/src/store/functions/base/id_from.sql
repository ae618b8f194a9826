-- The same id in every process that makes it: as `idFrom` in base/ids.ts, with the time of another id.
create or replace function troupe.id_from(p_key text, p_near uuid) returns uuid language sql immutable as $$
  select (left(p_near::text, 13) || '-8' || substr(d, 14, 3) || '-a' || substr(d, 18, 3) || '-'
    || substr(d, 21, 12))::uuid
  from (select encode(sha256(convert_to(p_key, 'UTF8')), 'hex') as d) x
$$;
