import { createModels, createScripted, newId } from '@troupe/server';
import { buildStart, plainDoor, Stage } from '@troupe/testing';
import { afterEach, expect, inject, it } from 'vitest';

let stage: Stage;
afterEach(() => stage.close());

it('a fork to a snapshot that is not there is refused', async () => {
  stage = await Stage.open({ postgresUrl: inject('postgresUrl'), script: () => ({ text: 'Done.' }) });
  const ended = await stage.play(await stage.snapshot());
  expect(await stage.kernel.fork(ended.run, 1, { snapshot: newId() })).toEqual({
    ok: false,
    code: 'snapshot_not_found',
  });
});

it('a run whose snapshot has vanished fails by name, and those claimed with it are worked on', async () => {
  stage = await Stage.open({
    postgresUrl: inject('postgresUrl'),
    script: () => ({ text: 'Done.' }),
    work: false,
  });
  const good = await stage.snapshot();
  const gone = await stage.snapshot({ prompt: 'I shall vanish.' });
  const runs: string[] = [];
  for (const snapshot of [gone, good, gone, good]) {
    const item = buildStart(stage.cast, snapshot, 'go');
    await stage.kernel.start(item);
    runs.push(item.run.id);
  }
  // As a restored backup with a hole in it.
  await stage.db.pool.query('alter table troupe.compiled_snapshots disable trigger user');
  await stage.db.pool.query('delete from troupe.compiled_snapshots where id = $1', [gone]);
  const scripted = createScripted(() => ({ text: 'Done.' }));
  await stage.kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: scripted.provider }),
    tools: { resolve: () => undefined },
  });
  const ends = await Promise.all(runs.map((run) => stage.kernel.ended(run)));
  expect(ends.map((end) => end.error?.code ?? end.status)).toEqual([
    'snapshot_missing',
    'completed',
    'snapshot_missing',
    'completed',
  ]);
});
