import { setTimeout as delay } from 'node:timers/promises';
import { contention, stopwatch, until } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { written } from './client.ts';
import { StreamFixture, upTo } from './fixture.ts';
import { Part } from './processes.ts';

const WORDS = Array.from({ length: 40 }, (_, n) => `word ${n} 😀 `);
const TEXT = WORDS.join('');

/** The words are said by whichever worker takes the run. */
const script = (chunks: string[], delayBetweenChunksMs: number) =>
  `script:${JSON.stringify([{ chunks, delayBetweenChunksMs }])}`;

const worker = (url: string) => Part.start<{ incarnation: string }>('work-process.ts', url);

async function holder(fixture: StreamFixture, run: string): Promise<string> {
  return until('somebody holds the run', async () => {
    const row = await fixture.row(run);
    return row.worker_id as string | null;
  });
}

test('served here, worked on there: events and pieces arrive as they are written', async () => {
  await using fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  await using _worker = await worker(fixture.databaseUrl);
  const session = await fixture.session();
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  const run = await fixture.say(session, await fixture.snapshot(), script(WORDS, 20));
  await until('half of it is read', () => written(client.deltas).length > TEXT.length / 2);
  // The answer is not there yet, so this was live.
  expect(client.events.map(({ type }) => type)).not.toContain('step.generated');
  expect(TEXT.startsWith(written(client.deltas))).toBe(true);

  const elapsed = stopwatch();
  const late = fixture.connect(session);
  await until('the late one has what the first has', () => written(late.deltas).length > TEXT.length / 2);
  expect(elapsed()).toBeLessThan(1_000);
  expect(late.deltas[0]).toMatchObject({ offset: 0, runId: run, step: 1 });
  // Also for a model that sends no reasoning.
  for (const { deltas } of [client, late])
    expect(deltas.find(({ type }) => type === 'step.generating')).toMatchObject({ offset: 0, text: '' });

  await client.sees('run.completed');
  const { rows } = await fixture.db.pool.query<{ ms: number }>(
    `select (extract(epoch from now() - created_at) * 1000)::float8 as ms from troupe.events where thread_id = $1 and type = 'run.completed'`,
    [session.thread],
  );
  // By hint, that is, and not by the look once a second.
  const sinceSeen = performance.now() - client.frames.findLast(({ event }) => event === 'run.completed')!.at;
  expect((rows[0]!.ms - sinceSeen) / contention()).toBeLessThan(500);
  await late.sees('run.completed');
  expect(late.events).toEqual(client.events);
  expect(client.ids).toEqual(upTo(client.ids.length));
  const at = client.frames.findIndex(({ event }) => event === 'step.generated');
  expect(client.frames.slice(at).filter(({ event }) => event === 'message.delta')).toEqual([]);
});

test('a reader who joins late, from a process that had none, has it all within a second', async () => {
  await using fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  await using _worker = await worker(fixture.databaseUrl);
  const session = await fixture.session();
  // Far more than one notice holds.
  const long = Array.from({ length: 60 }, (_, n) => `${n} ${'é😀\u0001'.repeat(200)} `);
  const run = await fixture.say(session, await fixture.snapshot(), script(long, 30));
  await holder(fixture, run);
  await delay(600); // the model has said a good part, and nobody was there
  const elapsed = stopwatch();
  const late = fixture.connect(session);
  await until('it is whole', () => written(late.deltas).length > 5_000);
  expect(elapsed()).toBeLessThan(1_000);
  expect(long.join('').startsWith(written(late.deltas))).toBe(true);
  await late.sees('run.completed');
  expect(written(late.deltas).length).toBeGreaterThan(long.join('').length / 2);
});

// These two have no bound on how long something takes.
test.concurrent('kill -9 of the worker in the middle of an answer: the reader sees the end without connecting again', async () => {
  await using fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  await using first = await worker(fixture.databaseUrl);
  await using second = await worker(fixture.databaseUrl);
  const session = await fixture.session();
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  const run = await fixture.say(session, await fixture.snapshot(), script(WORDS, 50));
  await until('some of it is read', () => written(client.deltas).length > 100);
  const held = await holder(fixture, run);
  await [first, second].find(({ ready }) => ready.incarnation === held)!.kill();
  const said = client.deltas.length;
  await client.sees('run.completed');
  expect(client.ended).toBeNull();
  expect(client.ids).toEqual(upTo(client.ids.length));
  expect(client.events.map(({ type }) => type)).toContain('run.resumed');
  // The second worker says it again from the beginning, which replaces what the first one said.
  const again = client.deltas.slice(said);
  const restart = again.findIndex(({ offset }) => offset === 0);
  expect(restart).toBeGreaterThanOrEqual(0);
  expect(TEXT.startsWith(written(again.slice(restart)))).toBe(true);
  expect(written(again.slice(restart)).length).toBeGreaterThan(TEXT.length / 2);
  expect((await fixture.messages(session.thread)).at(-1)!.content).toEqual({ text: TEXT });
});

test.concurrent('connections for hints that break cost neither an event nor the text', async () => {
  await using fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  await using _worker = await worker(fixture.databaseUrl);
  const session = await fixture.session();
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  await fixture.say(session, await fixture.snapshot(), script(WORDS, 80));
  for (let n = 1; n <= 3; n++) {
    await until('it goes on', () => written(client.deltas).length > (TEXT.length * n) / 5);
    const { rowCount } = await fixture.db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%/signals' and datname = current_database()`,
    );
    expect(rowCount).toBe(2);
  }
  await client.sees('run.completed');
  expect(written(client.deltas).length).toBeGreaterThan((TEXT.length * 3) / 5);
  expect(TEXT.startsWith(written(client.deltas))).toBe(true);
  expect(client.ids).toEqual(upTo(client.ids.length));
});

test('what no hint tells of is there within a second', async () => {
  await using fixture = await StreamFixture.open(inject('postgresUrl'), { work: false });
  const session = await fixture.session();
  const client = fixture.connect(session);
  await until('connected', () => client.frames.length > 0);
  for (let n = 1; n <= 3; n++) {
    const elapsed = stopwatch();
    await fixture.append(session.thread, 2);
    await until('they are there', () => client.ids.length === 2 * n);
    expect(elapsed()).toBeLessThan(1_500);
  }
});
