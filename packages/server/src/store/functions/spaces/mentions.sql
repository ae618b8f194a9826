-- Returns whether a text contains @name as a word.
-- Locks: none.
-- Called by: troupe.post_to_space.
create or replace function troupe.mentions(p_text text, p_name text) returns boolean language sql immutable strict as $$
  select troupe.folded(p_text) ~ ('(^|[^[:alnum:]_])@'
    || regexp_replace(troupe.folded(p_name), '([^[:alnum:][:space:]])', '\\\1', 'g') || '(?![[:alnum:]_])')
$$;
