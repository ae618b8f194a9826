import { createDatabase, type TestDatabase, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { isAmbiguous, rowsOf, storedRows, told } from './comparison.ts';
import { type Recorded, recording } from './recorder.ts';
import { Replay } from './replay.ts';
import { RULES, Simulation } from './simulation.ts';

// The simulation is worth as much as its store is like the real one. Here the calls of whole simulations are sent to
// the functions in Postgres as well, at the same times, and every answer and in the end every row must be the same.

const SEEDS = process.env.TROUPE_SEED
  ? [Number(process.env.TROUPE_SEED)]
  : Array.from({ length: 12 }, (_, i) => i + 1);

let database: TestDatabase;
let replay: Replay;

beforeAll(async () => {
  database = await createDatabase(inject('postgresUrl'));
  replay = await Replay.open(database.url);
});

afterAll(async () => {
  await replay.close();
  await database.drop();
});

it.each(SEEDS)('the model store answers like the functions in Postgres, seed %i', async (seed) => {
  const log: Recorded[] = [];
  const simulation = new Simulation(seed, { ...RULES, Store: recording(log) }, false);
  simulation.play();
  await replay.begin(log);
  for (const [index, call] of log.entries()) {
    const answer = await replay.answer(call);
    // Which of several runs that are due since the same moment comes first is left open.
    if (call.method === 'claim' && isAmbiguous(call.answer, answer)) return;
    expect(told(call.method, answer), `call ${index}: ${call.method} ${JSON.stringify(call.args)}`).toEqual(
      told(call.method, call.answer),
    );
  }
  expect(await storedRows(replay.pool)).toEqual(rowsOf(simulation.store));
  expect(await violations(replay.pool)).toEqual([]);
});
