import { until } from '@troupe/testing';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SessionStage } from './session-stage.ts';

/** What a process does all the time, turn or no turn. */
const BACKGROUND = new Set(['beat', 'held_by', 'rowless_holders', 'lock_holders', 'expire', 'uptime']);

let stage: SessionStage;
let statements: string[] = [];
const query = pg.Client.prototype.query;

// Every connection of every process of this test sends through here, whatever it is for.
beforeEach(() => {
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given as [string | { name?: string; text: string }];
    statements.push(typeof first === 'string' ? first : (first.name ?? first.text));
    return (query as (...all: unknown[]) => unknown).apply(this, given);
  } as typeof query;
});
afterEach(async () => {
  pg.Client.prototype.query = query;
  await stage.close();
});

for (const apart of [false, true]) {
  it(`a turn with one tool call takes at most 10 statements, ${apart ? 'serve and work apart' : 'in one process'}`, async () => {
    const ended: string[] = [];
    stage = await SessionStage.open({
      apart,
      script: ({ step }) => (step === 1 ? { calls: [{ name: 'echo', arguments: {} }] } : { text: 'Done.' }),
      tools: { echo: () => 'x' },
      toolList: [{ name: 'echo' }],
      probe: (boundary, when, [run]) => {
        if (boundary === 'answer' && when === 'after') ended.push(run!);
      },
    });
    const session = await stage.create();
    const turns: string[][] = [];
    for (let turn = 0; turn < 6; turn++) {
      statements = [];
      const { run } = await stage.say(session, `turn ${turn}`);
      // Without a statement of our own.
      await until('two answers', () => ended.filter((id) => id === run!.id).length === 2);
      turns.push(statements.filter((name) => !BACKGROUND.has(name)));
    }
    expect(await stage.messages(session)).toHaveLength(24);
    // The first turn fills caches; a poll of the queue that finds nothing may fall into any other.
    const [least] = turns.slice(1).sort((a, b) => a.length - b.length);
    expect(least!.length, least!.join(', ')).toBeLessThanOrEqual(10);
    expect(least!.length, least!.join(', ')).toBeGreaterThanOrEqual(5);
  });
}
