import { Kernel, silentLogger } from '@troupe/server';
import { type KernelFixture, openKernel, plainDoor } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';

let fixture: KernelFixture;
afterEach(() => fixture.close());

it('tells of a failure in the words of the door too, and of nothing else', async () => {
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    script: ({ messages }) =>
      messages[0]?.role === 'user' && messages[0].text === 'fail'
        ? { error: { code: 'broken', message: 'It broke.', retryable: false } }
        : { text: 'Fine.' },
    work: { doors: [{ ...plainDoor, failEvents: ['plain.failed'] }] },
  });
  const snapshot = await fixture.snapshot();
  const failed = await fixture.play(snapshot, { text: 'fail' });
  expect(failed.status).toBe('failed');
  expect((await fixture.events(failed.thread)).slice(-2)).toMatchObject([
    { type: 'plain.failed', data: { code: 'broken', message: 'It broke.' } },
    { type: 'run.failed', data: { code: 'broken', message: 'It broke.' } },
  ]);
  const fine = await fixture.play(snapshot, { text: 'go' });
  expect((await fixture.events(fine.thread)).map(({ type }) => type)).not.toContain('plain.failed');
});

it('writes the events of the door when a run is canceled from outside, unless it waits for its turn', async () => {
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    work: { doors: [{ ...plainDoor, cancelEvents: ['plain.canceled'] }] },
  });
  const snapshot = await fixture.snapshot();
  const run = { serial: true, delayMs: 3_600_000 };
  const first = await fixture.start(snapshot, { run });
  const second = await fixture.start(snapshot, { run, thread: first.thread });
  const alone = await fixture.start(snapshot, { run: { delayMs: 3_600_000 } });
  // A process that has no worker knows no door.
  const kernel = new Kernel({ db: fixture.db, logger: silentLogger });
  for (const one of [second, first, alone]) expect(await kernel.cancel(one.run)).toMatchObject({ ok: true });
  const canceled = async (thread: string) =>
    (await fixture.events(thread)).filter(({ type }) => type.endsWith('canceled'));
  const data = { reason: 'user' };
  const own = [
    { type: 'plain.canceled', data },
    { type: 'run.canceled', data },
  ];
  expect(await canceled(first.thread)).toMatchObject([{ type: 'run.canceled', data }, ...own]);
  expect(await canceled(alone.thread)).toMatchObject(own);
  await kernel.close();
});
