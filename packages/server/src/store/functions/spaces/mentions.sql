-- Whether a text names somebody: @name, with nothing before or behind it that would make it another word.
create or replace function troupe.mentions(p_text text, p_name text) returns boolean language sql immutable strict as $$
  select troupe.folded(p_text) ~ ('(^|[^[:alnum:]_])@'
    || regexp_replace(troupe.folded(p_name), '([^[:alnum:][:space:]])', '\\\1', 'g') || '(?![[:alnum:]_])')
$$;
