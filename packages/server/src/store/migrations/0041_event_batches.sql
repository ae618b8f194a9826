-- breaking: true
-- A commit writes its events as one row: a run of five tool calls writes 12 rows and index entries instead of 27.

alter table troupe.events rename to event_singles;

-- The events of one commit in one thread, numbered up to last_seq without a gap. entries: [[type, data, message, step,
-- run], …], where message counts from message_seq and trailing nulls are left out. `json`, not `jsonb`: entries are
-- never searched, and text is a third smaller.
create table troupe.event_batches (
  thread_id uuid not null,
  last_seq bigint not null,
  message_seq bigint,
  run_id uuid,
  created_at timestamptz not null default now(),
  entries json not null,
  primary key (thread_id, last_seq)
);

insert into troupe.event_batches (thread_id, last_seq, message_seq, run_id, created_at, entries)
  select e.thread_id, e.seq, e.message_seq - 1, e.run_id, e.created_at,
    json_build_array(json_build_array(e.type, e.data, case when e.message_seq is not null then 1 end, e.step))
  from troupe.event_singles e;

drop table troupe.event_singles;

-- The log as it is read, one row per event. A reader of a long log bounds last_seq of event_batches itself.
create view troupe.events as
  select b.thread_id, b.last_seq - json_array_length(b.entries) + x.position as seq, x.entry->>0 as type,
    (x.entry->>1)::jsonb as data, b.message_seq + (x.entry->>2)::int as message_seq,
    coalesce((x.entry->>4)::uuid, b.run_id) as run_id, (x.entry->>3)::int as step, b.created_at
  from troupe.event_batches b
    cross join lateral json_array_elements(b.entries) with ordinality x(entry, position);
