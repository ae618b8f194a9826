import { createHash } from 'node:crypto';
import { violations } from '@troupe/testing';
import pg from 'pg';
import type { History, Request } from '../clients/history.ts';
import type { Receiver } from '../doubles/receiver.ts';
import type { ToolDouble } from '../doubles/tools.ts';
import type {
  CallFact,
  CopyFact,
  DeliveryFact,
  Evidence,
  MakerFact,
  RestlessFact,
  RunFact,
  ThreadFact,
} from './evidence.ts';
import { readAnswers, readRows, threadsOf } from './labels.ts';

/** Reads the database after everything came to rest, and puts it beside what clients and doubles saw. */
export async function gather(
  url: string,
  seen: { history: History; tools: ToolDouble; receiver: Receiver },
  known: { copies: CopyFact[]; restless: RestlessFact[]; usage: Evidence['usage']['reported'] },
): Promise<Evidence> {
  const pool = new pg.Pool({ connectionString: url, max: 2, application_name: 'chaos' });
  const client = await pool.connect();
  try {
    const { history, tools, receiver } = seen;
    const runs = await readRuns(client);
    await fillRuns(client, history.requests);
    const all = [...runs.values()];
    const sum = (pick: (run: RunFact) => number) => all.reduce((total, run) => total + pick(run), 0);
    return {
      requests: history.requests,
      readers: history.readers,
      threads: await readThreads(client, new Set(history.readers.map(({ thread }) => thread))),
      runs,
      calls: await readCalls(client),
      effects: tools.effects,
      rows: await readRows(client, history.requests),
      answers: await readAnswers(client),
      makers: await readMakers(client),
      disturbed: history.disturbed,
      titles: history.titles,
      received: receiver.received,
      forged: receiver.forged,
      deliveries: await readDeliveries(client),
      copies: await withRows(client, known.copies),
      restless: known.restless,
      usage: {
        reported: known.usage,
        runs: { inputTokens: sum((run) => run.inputTokens), outputTokens: sum((run) => run.outputTokens) },
      },
      invariants: await violations(pool),
    };
  } finally {
    client.release();
    await pool.end();
  }
}

async function readRuns(client: pg.ClientBase): Promise<Map<string, RunFact>> {
  const { rows } = await client.query(
    `select r.id, r.door, r.thread_id, r.status, r.error->>'code' as error, r.outcome, r.cancel_reason, r.takeovers_in_all, r.created_at, r.started_at,
        coalesce(r.completed_at, r.canceled_at) as ended_at, r.input_tokens, r.output_tokens, r.cost,
        coalesce(s.input, 0) as step_input, coalesce(s.output, 0) as step_output, coalesce(s.cost, 0) as step_cost, s.moments,
        exists (select from troupe.events e where e.thread_id = r.thread_id and e.run_id = r.id and e.type = 'run.queued'
          and e.data->>'retry' = 'true') as retried
      from troupe.runs r left join (select run_id, sum(input_tokens) as input, sum(output_tokens) as output, sum(cost) as cost,
        array_agg(finished_at order by step) as moments from troupe.run_steps group by run_id) s on s.run_id = r.id`,
  );
  const time = (value: Date | null) => value?.getTime() ?? null;
  return new Map(
    rows.map((row) => [
      row.id,
      {
        id: row.id,
        door: row.door,
        thread: row.thread_id,
        status: row.status,
        retried: row.retried,
        takeovers: row.takeovers_in_all,
        error: row.error,
        outcome: JSON.stringify(row.outcome),
        cancelReason: row.cancel_reason,
        createdAt: row.created_at.getTime(),
        startedAt: time(row.started_at),
        endedAt: time(row.ended_at),
        inputTokens: Number(row.input_tokens),
        outputTokens: Number(row.output_tokens),
        cost: Number(row.cost),
        stepInputTokens: Number(row.step_input),
        stepOutputTokens: Number(row.step_output),
        stepCost: Number(row.step_cost),
        moments: [...(row.moments ?? []).map((moment: Date) => moment.getTime()), time(row.ended_at) ?? 0],
      },
    ]),
  );
}

async function readCalls(client: pg.ClientBase): Promise<CallFact[]> {
  const { rows } = await client.query(
    `select run_id, call_id, tool, effect, status, attempt, output = '"seen"' as by_person from troupe.tool_calls`,
  );
  return rows.map(({ run_id: run, call_id: call, tool, effect, status, attempt, by_person }) => ({
    run,
    call,
    tool,
    effect,
    status,
    attempt,
    byPerson: by_person === true,
    key: `${run}-${createHash('sha256').update(call).digest('hex').slice(0, 32)}`,
  }));
}

async function readThreads(client: pg.ClientBase, read: Set<string>): Promise<Map<string, ThreadFact>> {
  const threads = await threadsOf(client);
  const facts = new Map<string, ThreadFact>();
  for (const id of read) {
    const thread = threads.get(id) ?? id;
    const { rows: counters } = await client.query('select last_event_seq from troupe.threads where id = $1', [
      thread,
    ]);
    if (!counters[0]) continue;
    const { rows } = await client.query('select type from troupe.events where thread_id = $1 order by seq', [
      thread,
    ]);
    facts.set(id, { id, lastEvent: Number(counters[0].last_event_seq), types: rows.map(({ type }) => type) });
  }
  return facts;
}

async function readDeliveries(client: pg.ClientBase): Promise<DeliveryFact[]> {
  const { rows } = await client.query(
    `select d.id, t.name as trigger, d.document_id as document, d.change_id as change, d.event, d.status
      from troupe.trigger_deliveries d join troupe.triggers t on t.id = d.trigger_id`,
  );
  return rows.map((row) => ({ ...row, change: Number(row.change) }));
}

/** Pushed messages: the answer names no run, so the run is found by the message. */
async function fillRuns(client: pg.ClientBase, requests: Request[]): Promise<void> {
  const { rows } = await client.query<{ id: string; message: string }>(
    'select id, trigger_message_id as message from troupe.runs where trigger_message_id is not null and parent_run_id is null',
  );
  const byMessage = Map.groupBy(rows, ({ message }) => message);
  for (const request of requests) {
    if (request.made !== 'message' || request.runs || !request.ids[0]) continue;
    request.runs = (byMessage.get(request.ids[0]) ?? []).map(({ id }) => id);
  }
}

async function readMakers(client: pg.ClientBase): Promise<MakerFact[]> {
  const { rows } = await client.query<MakerFact>(
    `select 'batch' as kind, b.name as label, array_agg(i.run_id) filter (where i.run_id is not null) as runs
        from troupe.network_batches b left join troupe.network_batch_items i on i.batch_id = b.id group by b.id
      union all select 'plan', p.name, array_agg(r.id) filter (where r.id is not null) from troupe.plans p
        left join troupe.runs r on r.trigger_type = 'plan' and r.trigger->>'planId' = p.id::text and r.parent_run_id is null group by p.id`,
  );
  return rows.map((row) => ({ ...row, runs: row.runs ?? [] }));
}

/** What the tables have of sessions and their messages, past the queries that pulls are made of. */
async function withRows(client: pg.ClientBase, copies: CopyFact[]): Promise<CopyFact[]> {
  const texts: Record<string, string> = {
    sessions: `select s.id from troupe.sessions s join troupe.entities e on e.id = s.entity_id where e.external_id = $1`,
    messages: `select m.id from troupe.messages m join troupe.sessions s on s.thread_id = m.thread_id
      join troupe.entities e on e.id = s.entity_id where e.external_id = $1`,
  };
  for (const copy of copies) {
    const text = texts[copy.collection];
    if (text) copy.rows = (await client.query<{ id: string }>(text, [copy.user])).rows.map(({ id }) => id);
  }
  return copies;
}
