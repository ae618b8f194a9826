import { violations } from '@troupe/testing';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import { SessionFixture } from './session-fixture.ts';

/** Statements that a process sends whether there is a turn or not. */
const BACKGROUND = new Set([
  ...['beat', 'held_by', 'rowless_holders', 'lock_holders', 'expire', 'uptime', 'claim'],
]);
const TURNS = process.env.TROUPE_TEST_LONG ? 5_000 : 400;

let fixture: SessionFixture;
let statements: string[] = [];
const query = pg.Client.prototype.query;

beforeEach(() => {
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given as [string | { name?: string; text: string }];
    statements.push(typeof first === 'string' ? first : (first.name ?? first.text));
    return (query as (...all: unknown[]) => unknown).apply(this, given);
  } as typeof query;
});
afterEach(async () => {
  pg.Client.prototype.query = query;
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});

const isSummariser = ({ system }: ModelRequest) => system.startsWith('You keep the memory');

/** Each summary names the turns that it covers as one range, so that it does not grow. */
function summary(request: ModelRequest): string {
  const text = JSON.stringify(request.messages);
  const turns = [...text.matchAll(/(?:question|turns 1 to) (\d+)/g)].map(([, turn]) => Number(turn));
  return `They spoke about turns 1 to ${Math.max(...turns)}.`;
}

it(`a turn costs the same at turn ${TURNS} as at turn 50, and no message is lost`, async () => {
  fixture = await SessionFixture.open({
    contextTokens: 2_000,
    script: (request) => (isSummariser(request) ? { text: summary(request) } : { text: 'It is noted.' }),
  });
  const session = await fixture.create();
  const costs: { run: string; statements: number; bytes: number }[] = [];
  for (let turn = 1; turn <= TURNS; turn++) {
    statements = [];
    const before = fixture.scripted.requests.length;
    const { run } = await fixture.say(session, `This is question ${turn}. More words of this turn.`);
    await fixture.kernel.ended(run!.id);
    const asked = fixture.scripted.requests.slice(before).filter((request) => !isSummariser(request));
    expect(asked).toHaveLength(1);
    const messages = JSON.stringify(asked[0]!.messages);
    // Everything is either covered by the summary or shown, without a gap.
    const covered = Number(/turns 1 to (\d+)/.exec(messages)?.[1] ?? 0);
    const shown = [...messages.matchAll(/question (\d+)/g)].map(([, number]) => Number(number));
    expect(shown).toEqual(Array.from({ length: turn - covered }, (_, index) => covered + index + 1));
    const { length } = statements.filter((name) => !BACKGROUND.has(name));
    costs.push({ run: run!.id, statements: length, bytes: messages.length });
  }

  const { rows } = await fixture.db.pool.query<{ role: string; count: number; last: number }>(
    `select role, count(*)::int as count, max(seq)::int as last from troupe.messages where thread_id = $1 group by role order by role`,
    [session.threadId],
  );
  const counts = Object.fromEntries(rows.map(({ role, count }) => [role, count]));
  expect(counts).toMatchObject({ user: TURNS, assistant: TURNS });
  expect(counts.system).toBeGreaterThan(TURNS / 50);
  expect(Math.max(...rows.map(({ last }) => last))).toBe(2 * TURNS + counts.system!);

  const largest = (part: typeof costs) => Math.max(...part.map(({ bytes }) => bytes));
  expect(largest(costs.slice(-100))).toBeLessThanOrEqual(largest(costs.slice(50, 150)) * 1.1);
  const summaries = await fixture.db.pool.query<{ run: string }>(
    `select run_id as run from troupe.messages where thread_id = $1 and role = 'system'`,
    [session.threadId],
  );
  const compacted = new Set(summaries.rows.map(({ run }) => run));
  const least = (part: typeof costs) => Math.min(...part.map((cost) => cost.statements));
  const ordinary = costs.filter(({ run }) => !compacted.has(run));
  expect(least(ordinary.slice(-100))).toBe(least(ordinary.slice(2, 12)));
  // A summary is one step more: one commit.
  expect(least(costs.filter(({ run }) => compacted.has(run)))).toBe(least(ordinary) + 1);
});
