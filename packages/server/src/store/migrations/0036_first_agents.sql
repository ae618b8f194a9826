-- breaking: false
-- Every project has agents from the start, to whom others can give tasks: they are brought once. What a person archives or renames of
-- them stays so.
alter table troupe.projects add column agents_brought boolean not null default false;
