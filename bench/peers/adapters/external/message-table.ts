/** A table of messages, for systems that have no conversation store of their own. */
import type pg from 'pg';
import { history, type PlainMessage } from '../../scenario.ts';

export async function createMessages(pool: pg.Pool): Promise<void> {
  await pool.query(
    'create table if not exists messages (conversation text, seq int, body jsonb, primary key (conversation, seq))',
  );
}

export async function load(pool: pg.Pool, conversation: string): Promise<PlainMessage[]> {
  const { rows } = await pool.query<{ body: PlainMessage }>({
    name: 'history',
    text: 'select body from messages where conversation = $1 order by seq',
    values: [conversation],
  });
  return rows.map(({ body }) => body);
}

export async function append(pool: pg.Pool, conversation: string, messages: PlainMessage[]): Promise<void> {
  await pool.query(
    `insert into messages
     select $1, (select count(*) from messages where conversation = $1) + ordinality - 1, body
     from jsonb_array_elements($2::jsonb) with ordinality t(body)`,
    [conversation, JSON.stringify(messages)],
  );
}

export function seedMessages(pool: pg.Pool, conversation: string, count: number): Promise<void> {
  return append(pool, conversation, history(count));
}
