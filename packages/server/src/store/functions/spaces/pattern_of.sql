-- Returns a regular expression that matches exactly this text.
-- Locks: none.
-- Called by: troupe.mentions.
create or replace function troupe.pattern_of(p_text text) returns text language sql immutable strict as $$
  select regexp_replace(p_text, '([^[:alnum:][:space:]])', '\\\1', 'g')
$$;
