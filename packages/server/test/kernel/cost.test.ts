import { newId } from '@troupe/server';
import { type KernelFixture, openKernel } from '@troupe/testing';
import { afterEach, describe, expect, inject, it } from 'vitest';

const postgresUrl = inject('postgresUrl');
/** What a worker does all the time, run or no run. */
const BACKGROUND = new Set([
  'beat',
  'held_by',
  'rowless_holders',
  'lock_holders',
  'expire',
  'uptime',
  'load_snapshots',
]);
let fixture: KernelFixture;
afterEach(() => fixture.close());

describe('the cost of a run', () => {
  it('with five tools is at most 16 statements, from the message to its end', async () => {
    let statements: string[] = [];
    fixture = await openKernel({
      postgresUrl,
      script: (request) =>
        request.step <= 5 ? { calls: [{ name: 'echo', arguments: {} }] } : { text: 'Done.' },
      tools: { echo: () => 'x' },
      onStatement: (name) => statements.push(name),
    });
    const snapshot = await fixture.snapshot({ tools: [{ name: 'echo', provider: 'code' }] });
    await fixture.play(snapshot);
    statements = [];
    const ended = await fixture.play(snapshot);
    expect(ended.status).toBe('completed');
    const counted = statements.filter((name) => !BACKGROUND.has(name));
    expect(counted.length, counted.join(' ')).toBeLessThanOrEqual(16);
    // Six answers and five results, each a commit of its own before the next begins.
    expect(counted.filter((name) => name === 'commit')).toHaveLength(11);
  });

  it('does not grow with the history: 5,000 messages within 1.2 times 50', async () => {
    let shown = 0;
    fixture = await openKernel({
      postgresUrl,
      script: (request) => {
        shown = request.messages.length;
        return request.step === 1 ? { calls: [{ name: 'echo', arguments: {} }] } : { text: 'Done.' };
      },
      tools: { echo: () => 'x' },
    });
    const snapshot = await fixture.snapshot({ tools: [{ name: 'echo', provider: 'code' }] });
    const samples: Record<number, number[]> = { 50: [], 5000: [] };
    const most: Record<number, number> = {};
    const threads: Record<number, string> = { 50: await seed(50), 5000: await seed(5000) };
    for (let round = 0; round < 60; round++) {
      // Alternating, so that whatever else the machine does falls on both.
      for (const length of [50, 5000]) {
        const thread = threads[length]!;
        const began = performance.now();
        const ended = await fixture.play(snapshot, { text: 'and now?', thread, run: { serial: true } });
        samples[length]!.push(performance.now() - began);
        expect(ended.status).toBe('completed');
        most[length] = shown;
      }
    }
    // The model sees a window, whatever the thread holds.
    expect(most[50]).toBeGreaterThanOrEqual(40);
    expect(most[5000]).toBeLessThanOrEqual(54);
    const quartile = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 4)]!;
    const ratio = quartile(samples[5000]!) / quartile(samples[50]!);
    expect(
      ratio,
      `${quartile(samples[5000]!).toFixed(2)} ms against ${quartile(samples[50]!).toFixed(2)} ms`,
    ).toBeLessThanOrEqual(1.2);
  });
});

async function seed(length: number): Promise<string> {
  const thread = newId();
  await fixture.db.pool.query(
    `with t as (insert into troupe.threads (id, project_id, kind, last_message_seq) values ($1, $2, 'session', $3))
     insert into troupe.messages (thread_id, seq, id, role, content)
     select $1, n, gen_random_uuid(), case n % 2 when 1 then 'user' else 'assistant' end::troupe.message_role,
       jsonb_build_object('text', 'message ' || n || ' ' || repeat('lorem ipsum ', 16)) from generate_series(1, $3) n`,
    [thread, fixture.ids.project, length],
  );
  return thread;
}
