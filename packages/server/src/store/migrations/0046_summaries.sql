-- breaking: false
-- Summaries of conversations: the model that writes them for agents that name none, and an index that finds the newest
-- summary of a thread. Only summaries are in it, so other messages cost nothing.
alter table troupe.projects add compaction_model_id uuid references troupe.llm_models;
create index messages_tail on troupe.messages (thread_id, seq)
  where role = 'system' and jsonb_typeof(metadata->'troupe:summary'->'upTo') = 'number';
