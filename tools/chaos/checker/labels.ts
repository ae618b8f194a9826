import type pg from 'pg';
import type { Request } from '../clients/history.ts';
import { labelsIn } from '../doubles/brain.ts';
import type { AnswerFact, RowFact } from './evidence.ts';

const UUID = '^[0-9a-f]{8}-';

/** The things that requests made, by the labels that they carry. Copies of messages in forks are none of them. */
export async function readRows(client: pg.ClientBase, requests: Request[]): Promise<RowFact[]> {
  const threads = await threadsOf(client);
  const threadOf = new Map(
    requests.flatMap(({ label, thread }) => (thread ? [[label, threads.get(thread) ?? thread]] : [])),
  );
  const read = async (made: Request['made'], text: string): Promise<RowFact[]> => {
    const { rows } = await client.query<{ id: string; label: string }>(text);
    return rows.map(({ id, label }) => ({ made, id, label }));
  };
  const { rows: messages } = await client.query<{
    id: string;
    thread: string;
    text: string;
    isSpace: boolean;
  }>(
    `select m.id, m.thread_id as thread, m.content->>'text' as text, t.kind = 'space' as "isSpace"
      from troupe.messages m join troupe.threads t on t.id = m.thread_id where m.role = 'user'`,
  );
  const posted = messages.flatMap(({ id, thread, text, isSpace }) =>
    labelsIn(text ?? '', 'm').flatMap((label): RowFact[] =>
      threadOf.get(label) === thread ? [{ made: isSpace ? 'space_message' : 'message', label, id }] : [],
    ),
  );
  return [
    ...posted,
    ...(await read(
      'session',
      `select id, metadata->>'label' as label from troupe.sessions where metadata ? 'label' and coalesce(title, '') !~ '${UUID}'`,
    )),
    ...(await read(
      'space',
      `select id, metadata->>'label' as label from troupe.spaces where metadata ? 'label'`,
    )),
    ...(await read('fork', `select id, title as label from troupe.sessions where title ~ '${UUID}'`)),
    ...(await read(
      'invocation',
      `select id, metadata->>'label' as label from troupe.runs where network_id is not null and metadata ? 'label' and parent_run_id is null`,
    )),
    ...(await read('batch', `select id, name as label from troupe.network_batches where name is not null`)),
    ...(await read('plan', `select id, name as label from troupe.plans`)),
    ...(await read(
      'task',
      `select id, substring(instruction from '\\[t:([^]]+)\\]') as label from troupe.tasks where parent_run_id is null`,
    )),
    ...(await read(
      'service_run',
      `select id, trigger->'payload'->>'label' as label from troupe.runs where trigger_type = 'service' and trigger->'payload' ? 'label'`,
    )),
  ];
}

/** Answers of the model double, by the labels in their text. */
export async function readAnswers(client: pg.ClientBase): Promise<AnswerFact[]> {
  const sessions = new Map([...(await threadsOf(client))].map(([session, thread]) => [thread, session]));
  const { rows } = await client.query<{ thread: string; run: string; sequence: string; text: string }>(
    `select thread_id as thread, run_id as run, seq as sequence, content->>'text' as text from troupe.messages
      where role = 'assistant' and run_id is not null`,
  );
  return rows.flatMap(({ thread, run, sequence, text }) =>
    labelsIn(text ?? '', 'a').map((label) => ({
      thread: sessions.get(thread) ?? thread,
      label,
      run,
      sequence: Number(sequence),
    })),
  );
}

/** From sessions to their threads. */
export async function threadsOf(client: pg.ClientBase): Promise<Map<string, string>> {
  const { rows } = await client.query<{ id: string; thread_id: string }>(
    'select id, thread_id from troupe.sessions',
  );
  return new Map(rows.map(({ id, thread_id }) => [id, thread_id]));
}
