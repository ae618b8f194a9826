/**
 * A hand-written loop with one commit per step: the least that a durable loop costs on this Postgres. Not a product.
 * one-statement: each step is one autocommitted statement, one round trip.
 * transaction: each step is begin, insert, update, commit, four round trips.
 */
import pg from 'pg';
import type { Adapter } from '../adapter.ts';
import { decidePlain, history, type PlainMessage, runTool, userText } from '../scenario.ts';

interface State {
  pool: pg.Pool;
  variant: string;
}

interface Step {
  runId: string;
  conversation: string;
  seq: number;
  message: PlainMessage;
  step: number;
  status: 'running' | 'done';
}

const SCHEMA = `
create table if not exists runs (id text primary key, status text not null, step int not null);
create table if not exists messages (
  conversation text not null, seq int not null, role text not null, body jsonb not null, primary key (conversation, seq)
);`;

async function commit(
  state: State,
  { runId, conversation, seq, message, step, status }: Step,
): Promise<void> {
  const insert = [conversation, seq, message.role, JSON.stringify(message)];
  const run = [runId, status, step];
  if (state.variant === 'one-statement') {
    const text =
      step === 0
        ? 'with m as (insert into messages values ($1, $2, $3, $4)) insert into runs values ($5, $6, $7)'
        : 'with m as (insert into messages values ($1, $2, $3, $4)) update runs set status = $6, step = $7 where id = $5';
    await state.pool.query({
      name: step === 0 ? 'first' : 'next',
      text,
      values: [...insert, ...run],
    });
    return;
  }
  const client = await state.pool.connect();
  try {
    await client.query('begin');
    await client.query({
      name: 'insert',
      text: 'insert into messages values ($1, $2, $3, $4)',
      values: insert,
    });
    await client.query(
      step === 0
        ? { name: 'first', text: 'insert into runs values ($1, $2, $3)', values: run }
        : { name: 'next', text: 'update runs set status = $2, step = $3 where id = $1', values: run },
    );
    await client.query('commit');
  } finally {
    client.release();
  }
}

async function loop(
  state: State,
  runId: string,
  conversation: string,
  messages: PlainMessage[],
  fromStep: number,
): Promise<string> {
  for (let step = fromStep + 1; ; step++) {
    const last = messages.at(-1)!;
    if (last.role === 'assistant' && !last.call) return last.text;
    const message = await nextMessage(messages, last);
    const status = message.role === 'assistant' && !message.call ? 'done' : 'running';
    await commit(state, { runId, conversation, seq: messages.length, message, step, status });
    messages.push(message);
  }
}

async function nextMessage(messages: PlainMessage[], last: PlainMessage): Promise<PlainMessage> {
  if (last.call) return { role: 'tool', text: await runTool(last.call.args), id: last.call.id };
  const { call, text = '' } = await decidePlain(messages);
  return { role: 'assistant', text, ...(call ? { call } : {}) };
}

async function begin(
  state: State,
  runId: string,
  conversation: string,
  messages: PlainMessage[],
  text: string,
): Promise<void> {
  const message: PlainMessage = { role: 'user', text };
  const seq = messages.length;
  await commit(state, { runId, conversation, seq, message, step: 0, status: 'running' });
  messages.push(message);
}

async function load(pool: pg.Pool, conversation: string): Promise<PlainMessage[]> {
  const { rows } = await pool.query<{ body: PlainMessage }>({
    name: 'history',
    text: 'select body from messages where conversation = $1 order by seq',
    values: [conversation],
  });
  return rows.map(({ body }) => body);
}

export const adapter: Adapter<State> = {
  async setUp({ databaseUrl, poolSize, variant }) {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
    pool.on('error', () => {});
    await pool.query(SCHEMA);
    return { pool, variant };
  },

  async run(state, runId, options) {
    const messages: PlainMessage[] = [];
    await begin(state, runId, runId, messages, userText(runId, options));
    return loop(state, runId, runId, messages, 0);
  },

  async seed({ pool }, conversation, count) {
    await pool.query(
      `insert into messages
       select $1, (ordinality - 1)::int, body ->> 'role', body from jsonb_array_elements($2::jsonb) with ordinality t(body)`,
      [conversation, JSON.stringify(history(count))],
    );
  },

  async turn(state, conversation, runId, options) {
    const messages = await load(state.pool, conversation);
    await begin(state, runId, conversation, messages, userText(runId, options));
    return loop(state, runId, conversation, messages, 0);
  },

  crash: {
    async start(state, runId, options, accepted) {
      const messages: PlainMessage[] = [];
      await begin(state, runId, runId, messages, userText(runId, options));
      accepted();
      return loop(state, runId, runId, messages, 0);
    },

    async finished({ pool }, runIds) {
      const { rows } = await pool.query<{ id: string }>(
        `select id from runs where status = 'done' and id = any($1)`,
        [runIds],
      );
      return rows.map(({ id }) => id);
    },

    async recover(state) {
      const { rows } = await state.pool.query<{ id: string; step: number }>(
        `select id, step from runs where status = 'running'`,
      );
      for (const { id, step } of rows) {
        load(state.pool, id)
          .then((messages) => loop(state, id, id, messages, step))
          .catch(console.error);
      }
    },
  },
};
