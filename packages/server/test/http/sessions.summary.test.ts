import { violations } from '@troupe/testing';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SUMMARY_KEY } from '../../src/doors/sessions/summary.ts';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import { SessionFixture } from './session-fixture.ts';

/** What a process does all the time, turn or no turn. */
const BACKGROUND = new Set([
  ...['beat', 'held_by', 'rowless_holders', 'lock_holders', 'expire', 'uptime', 'claim'],
]);
const TURNS = 500;

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

/** The turns that a text speaks of. */
function turnsIn(text: string): number[] {
  return [...text.matchAll(/question (\d+)/g)].map(([, turn]) => Number(turn));
}

function shownBy({ messages }: ModelRequest) {
  const [first, ...rest] = messages.map((message) => ('text' in message ? message.text : ''));
  const summary = first!.startsWith('What was said before') ? first! : '';
  return { summary: turnsIn(summary), said: turnsIn((summary ? rest : [first, ...rest]).join('\n')) };
}

it('a model is shown a summary and the last turns, the same much at turn 500 as at turn 50', async () => {
  fixture = await SessionFixture.open({
    script: ({ messages }) => {
      const last = messages.at(-1) as { text: string };
      return { text: `About that: ${last.text.replace('question', 'answer')} It goes on for long.` };
    },
  });
  const session = await fixture.create();
  const counts: { run: string; names: string[] }[] = [];
  for (let turn = 1; turn <= TURNS; turn++) {
    statements = [];
    const { run } = await fixture.say(session, `This is question ${turn}. More words that are not kept.`);
    await fixture.kernel.ended(run!.id);
    counts.push({ run: run!.id, names: statements.filter((name) => !BACKGROUND.has(name)) });
  }

  const sizes = fixture.scripted.requests.map((request) => JSON.stringify(request.messages).length);
  expect(sizes).toHaveLength(TURNS);
  expect(Math.max(...sizes)).toBeLessThan(14_000);
  expect(Math.max(...sizes.slice(400))).toBeLessThanOrEqual(Math.max(...sizes.slice(200, 300)) * 1.1);

  fixture.scripted.requests.forEach((request, index) => {
    const { summary, said } = shownBy(request);
    // One after the other up to the one that is asked, and nothing both shortened and as it was said.
    const all = [...summary, ...said];
    expect(all).toEqual(all.map((_, place) => index + 2 - all.length + place));
    if (index > 30) expect(summary.length).toBeGreaterThan(0);
    if (index < 60) expect(all[0]).toBe(1);
    else expect(all.length).toBeGreaterThan(60);
  });

  // Each with the answer of a turn, each beginning where the last one ended.
  const { rows } = await fixture.db.pool.query(
    `select s.run_id as run, (s.metadata->$2->>'upTo')::int as "upTo", s.run_id = a.run_id and s.created_at = a.created_at as together, a.role
      from troupe.messages s join troupe.messages a on a.thread_id = s.thread_id and a.seq = s.seq - 1
      where s.thread_id = $1 and s.role = 'system' order by s.seq`,
    [session.threadId, SUMMARY_KEY],
  );
  expect(rows.length).toBeGreaterThan(TURNS / 50);
  expect(rows.every((row) => row.together && row.role === 'assistant')).toBe(true);
  const ends = rows.map(({ upTo }) => upTo as number);
  expect(ends).toEqual([...new Set(ends)].toSorted((a, b) => a - b));

  // Neither a long session nor a summary costs a statement more.
  const wrote = new Set(rows.map(({ run }) => run as string));
  const least = (turns: typeof counts) => Math.min(...turns.map(({ names }) => names.length));
  const usual = least(counts.slice(2, 12));
  expect(least(counts.slice(400).filter(({ run }) => wrote.has(run)))).toBe(usual);
  expect(least(counts.slice(400).filter(({ run }) => !wrote.has(run)))).toBe(usual);
});
