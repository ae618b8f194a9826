-- breaking: false
-- Whether a model takes images; null: as usual for the kind of its provider.
alter table troupe.llm_models add column image_input boolean;
