import type { Database } from '../database.ts';

/** A door, for processes that change its runs without loading it. */
export interface DoorRow {
  name: string;
  /** Types of events that precede `run.canceled`. */
  cancelEvents: string[];
}

export async function saveDoors(db: Database, doors: DoorRow[]): Promise<void> {
  await db.run({
    name: 'save_doors',
    text: `insert into troupe.doors as d (name, cancel_events)
      select x->>'name', array(select jsonb_array_elements_text(x->'cancelEvents')) from jsonb_array_elements($1::jsonb) x
        order by 1
      on conflict (name) do update set cancel_events = excluded.cancel_events
        where d.cancel_events is distinct from excluded.cancel_events`,
    values: [JSON.stringify(doors)],
  });
}
