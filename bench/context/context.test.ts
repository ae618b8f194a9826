import { Troupe } from '@troupe/sdk';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Heard, startDouble } from './double.ts';
import { addDouble } from './double-model.ts';
import { createPlan } from './facts.ts';
import { type Played, play } from './play.ts';

const plan = process.env.TROUPE_TEST_LONG ? createPlan(2_000, 100) : createPlan(250, 40);
const CONTEXT = process.env.TROUPE_TEST_LONG ? 16_000 : 5_000;

let double: Awaited<ReturnType<typeof startDouble>>;
let server: TestServer;
let played: Played;

beforeAll(async () => {
  double = await startDouble();
  server = await openServer({ postgresUrl: inject('postgresUrl'), allow: [new URL(double.url).host] });
  const troupe = new Troupe({ baseUrl: server.url });
  const model = await addDouble(troupe, double.url, CONTEXT);
  played = await play(troupe, plan, model);
}, 1_800_000);
afterAll(async () => {
  await server?.close();
  await double?.close();
});

it('shows every planted fact to the model while it fits, and to the summariser before it leaves', () => {
  const lost: string[] = [];
  const summarised = new Set<string>();
  let turn = -1;
  for (const { isSummary, text } of double.heard as Heard[]) {
    if (isSummary) {
      for (const { value } of plan.facts) if (text.includes(value)) summarised.add(value);
      continue;
    }
    turn += 1;
    for (const fact of plan.facts.filter((one) => one.turn <= turn)) {
      if (!text.includes(fact.statement) && !summarised.has(fact.value))
        lost.push(`${fact.value} at turn ${turn}`);
    }
  }
  expect(lost).toEqual([]);
  expect(played.compactions).toBeGreaterThan(1);
});

it('recalls every fact at the end', () => {
  const forgotten = plan.facts.filter((_, index) => !played.recalled[index]);
  expect(forgotten).toEqual([]);
});

it('never sends a request that exceeds the context', () => {
  expect(Math.max(...double.heard.map(({ tokens }) => tokens))).toBeLessThan(CONTEXT - 2_000);
});
