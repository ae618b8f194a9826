import { createModels, newId } from '@troupe/server';
import { createScripted } from '@troupe/server/parts';
import { buildStart, type KernelFixture, openKernel, plainDoor } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';

let fixture: KernelFixture;
afterEach(() => fixture.close());

it('a fork to a snapshot that is not there is refused', async () => {
  fixture = await openKernel({ postgresUrl: inject('postgresUrl'), script: () => ({ text: 'Done.' }) });
  const ended = await fixture.play(await fixture.snapshot());
  expect(await fixture.kernel.fork(ended.run, 1, { snapshot: newId() })).toEqual({
    ok: false,
    code: 'snapshot_not_found',
  });
});

it('a run whose snapshot has vanished fails by name, and those claimed with it are worked on', async () => {
  fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    script: () => ({ text: 'Done.' }),
    work: false,
  });
  const good = await fixture.snapshot();
  const gone = await fixture.snapshot({ prompt: 'I shall vanish.' });
  const runs: string[] = [];
  for (const snapshot of [gone, good, gone, good]) {
    const item = buildStart(fixture.ids, snapshot, 'go');
    await fixture.kernel.start(item);
    runs.push(item.run.id);
  }
  // As a restored backup with a hole in it.
  await fixture.db.pool.query('alter table troupe.compiled_snapshots disable trigger user');
  await fixture.db.pool.query('delete from troupe.compiled_snapshots where id = $1', [gone]);
  const scripted = createScripted(() => ({ text: 'Done.' }));
  await fixture.kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: scripted.provider }),
    tools: { resolve: () => undefined },
  });
  const ends = await Promise.all(runs.map((run) => fixture.kernel.ended(run)));
  expect(ends.map((end) => end.error?.code ?? end.status)).toEqual([
    'snapshot_missing',
    'completed',
    'snapshot_missing',
    'completed',
  ]);
});
