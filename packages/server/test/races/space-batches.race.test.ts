import { newId } from '@troupe/server';
import { oftenOf } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { claim } from '../../src/store/queries/claim.ts';
import { type CommitItem, commit } from '../../src/store/queries/commit.ts';
import { expire } from '../../src/store/queries/outside.ts';
import { Held, RaceFixture } from './fixture.ts';

let fixture: RaceFixture;
let spaces: string[];
beforeAll(async () => {
  fixture = await RaceFixture.open(inject('postgresUrl'), 2);
  const { project, entity } = fixture.ids;
  spaces = [newId(), newId()];
  for (const space of spaces) {
    await fixture.rows(`insert into troupe.threads (id, project_id, kind) values ($1, $2, 'space')`, [
      space,
      project,
    ]);
    await fixture.rows('insert into troupe.spaces (id, project_id) values ($1, $2)', [space, project]);
    await fixture.rows(
      'insert into troupe.memberships (space_id, entity_id, joined_seq, last_processed_seq) values ($1, $2, 0, 0)',
      [space, entity],
    );
  }
});
afterEach(() => fixture.checkInvariants());
afterAll(async () => {
  expect(await fixture.closeAndCountDeadlocks(), 'deadlocks').toBe(0);
});

/** Runs that began in one of the spaces and speak in any of them, as many as both processes hold at once. */
async function begun(count: number): Promise<string[]> {
  const items = Array.from({ length: count }, () => fixture.item({ run: { door: 'space' } }));
  await Promise.all(items.map((item, n) => fixture.process(n).kernel.start(item)));
  const ids = items.map((item) => item.run.id);
  await fixture.rows(
    `update troupe.runs r set space_id = ($2::uuid[])[1 + n % 2], active_space_id = ($2::uuid[])[1 + n / 2 % 2], watchers = $2
      from unnest($1::uuid[]) with ordinality x(id, n) where r.id = x.id`,
    [ids, spaces],
  );
  return ids;
}

/** One worker of one process takes what it can get, in small bites. */
async function take(n: number): Promise<Held[]> {
  const worker = newId();
  const held: Held[] = [];
  for (;;) {
    const runs = await claim(fixture.process(n).db, worker, 6, ['space'], {});
    held.push(...runs.map((run) => new Held(run, worker)));
    if (runs.length === 0) return held;
  }
}

const error = { code: 'broken', message: 'It broke.' };

function ending(run: Held, n: number): CommitItem {
  if (n % 3 === 0) return run.finishes();
  if (n % 3 === 1)
    return { ...run.fence, close: true, target: 'failed', error, targetEvents: [{ type: 'run.failed' }] };
  return run.asks(1, 'client', 1);
}

async function inBatches(held: Held[], n: number, size: number): Promise<void> {
  const batches: Held[][] = [];
  for (let at = 0; at < held.length; at += size) batches.push(held.slice(at, at + size));
  await Promise.all(
    batches.map(async (batch) => {
      const verdicts = await commit(
        fixture.process(n).db,
        batch.map((run, k) => ending(run, k)),
      );
      for (const verdict of verdicts) expect(verdict.ok).toBe(true);
    }),
  );
}

it('many runs in two spaces begin, end, fail, wait and expire in batches of two processes without a deadlock', async () => {
  let told = 0;
  for (let round = 0; round < oftenOf(12); round++) {
    const ids = await begun(48);
    const held = await Promise.all([take(0), take(1)]);
    expect(held.flat()).toHaveLength(48);
    await Promise.all(held.map((each, n) => inBatches(each, n, 8)));
    // The time of most is over as well: they are canceled.
    await fixture.rows(
      `update troupe.runs set deadline_at = now(), wait_deadline = now() where status = 'waiting_tool' and id <> $1`,
      [ids[0]],
    );
    await Promise.all([0, 1, 0, 1].map((n) => expire(fixture.process(n).db, 4)));
    // Those that have ended are told where they began and where they spoke; what waits is canceled.
    await Promise.all(ids.map((id, n) => fixture.process(n).kernel.cancel(id)));
    told += ids.length;
  }
  const rows = await fixture.rows<{ n: number }>(
    `select count(distinct run_id)::int as n from troupe.events where thread_id = any($1) and type = 'agent.inactive'`,
    [spaces],
  );
  expect(rows[0]!.n).toBe(told);
});

/** An answer that says something. */
function speaks(run: Held): CommitItem {
  const asked = run.asks(1);
  return { ...asked, calls: asked.calls!.map((call) => ({ ...call, tool: 'send_message' })) };
}

it('what many runs in two spaces were to say and did not is told in batches of two processes without a deadlock', async () => {
  let unsaid = 0;
  for (let round = 0; round < oftenOf(12); round++) {
    await begun(48);
    const held = await Promise.all([take(0), take(1)]);
    const all = held.flat();
    // Each was shown both spaces, and ends after it has failed to speak.
    await fixture.rows(
      `insert into troupe.run_shown (run_id, space_id, seqs) select r, s, '{}' from unnest($1::uuid[]) r, unnest($2::uuid[]) s`,
      [all.map(({ run }) => run), spaces],
    );
    const send = (make: (run: Held) => CommitItem) =>
      Promise.all(
        held.flatMap((each, n) =>
          Array.from({ length: Math.ceil(each.length / 8) }, async (_, k) => {
            const batch = each.slice(k * 8, k * 8 + 8);
            const items = batch.map(make);
            const verdicts = await commit(fixture.process(n).db, items);
            verdicts.forEach((verdict, i) => {
              expect(verdict.ok).toBe(true);
              batch[i]!.learn(items[i]!, verdict);
            });
          }),
        ),
      );
    await send(speaks);
    await send((run) => ({ ...run.results(1, { success: false, code: 'empty_message' }), tell: true }));
    await send((run) => run.finishes());
    unsaid += all.length;
  }
  const rows = await fixture.rows<{ n: number }>(
    `select count(distinct run_id)::int as n from troupe.events where thread_id = any($1) and type = 'message.failed'`,
    [spaces],
  );
  expect(rows[0]!.n).toBe(unsaid);
});
