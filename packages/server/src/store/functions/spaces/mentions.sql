-- Returns whether a text contains @name as a word. p_names are the folded names of all members: if one of them begins
-- with the name and is written there in full, that member is meant instead.
-- Locks: none.
-- Called by: troupe.post_to_space.
create or replace function troupe.mentions(p_text text, p_name text, p_names text[]) returns boolean
language sql immutable strict as $$
  -- Characters that mean something in a regular expression are escaped.
  select troupe.folded(p_text) ~ ('(^|[^[:alnum:]_])@' || regexp_replace(x.own, x.special, '\\\1', 'g')
    || '(?![[:alnum:]_])' || coalesce((select string_agg('(?!' || regexp_replace(substr(n, length(x.own) + 1),
      x.special, '\\\1', 'g') || '(?![[:alnum:]_]))', '')
      from unnest(p_names) n where n <> x.own and starts_with(n, x.own)), ''))
  from (select troupe.folded(p_name) as own, '([^[:alnum:][:space:]])' as special) x
$$;
