-- Returns whether a text contains @name as a word. p_names are the folded names of all members: if one of them begins
-- with the name and is written there in full, that member is meant instead.
-- Locks: none.
-- Called by: troupe.post_to_space.
create or replace function troupe.mentions(p_text text, p_name text, p_names text[]) returns boolean
language sql immutable strict as $$
  select troupe.folded(p_text) ~ ('(^|[^[:alnum:]_])@' || troupe.pattern_of(x.own) || '(?![[:alnum:]_])'
    || coalesce((select string_agg('(?!' || troupe.pattern_of(substr(n, length(x.own) + 1)) || '(?![[:alnum:]_]))', '')
      from unnest(p_names) n where n <> x.own and starts_with(n, x.own)), ''))
  from (select troupe.folded(p_name) as own) x
$$;
