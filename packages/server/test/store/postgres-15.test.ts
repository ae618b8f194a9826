import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  addJob,
  type EmbeddedPostgres,
  findBinaries,
  Jobs,
  silentLogger,
  startEmbedded,
} from '@troupe/server';
import { Stage, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTemplate } from '../../../testing/src/global-setup.ts';

const binaries = findBinaries(15);

// The whole of test/kernel runs on 15 in a stage of its own (tools/check.ts); this is its shortest form.
describe.skipIf(!binaries)('the oldest Postgres that is supported', () => {
  const home = mkdtempSync(join(tmpdir(), 'troupe-15-'));
  let postgres: EmbeddedPostgres;

  beforeAll(async () => {
    postgres = await startEmbedded({ home, logger: silentLogger, binaries: binaries! });
    await createTemplate(postgres.url);
  });

  afterAll(async () => {
    await postgres.stop();
    rmSync(home, { recursive: true, force: true });
  });

  it('plays a run with a tool', async () => {
    expect(postgres.version).toMatch(/^15\./);
    const stage = await Stage.open({
      postgresUrl: postgres.url,
      script: [{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, { text: 'three' }],
      tools: { add: () => 3 },
    });
    const ended = await stage.play(await stage.snapshot({ tools: [{ name: 'add', provider: 'code' }] }));
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'three' } });
    expect((await stage.messages(ended.thread)).map((message) => message.role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
    expect(await violations(stage.db.pool)).toEqual([]);
    await stage.close();
  });

  it('carries out jobs', async () => {
    const stage = await Stage.open({ postgresUrl: postgres.url, work: false });
    const seen: unknown[] = [];
    const tasks = { see: async (payload: unknown) => void seen.push(payload) };
    const jobs = new Jobs({ db: stage.db, logger: silentLogger, tasks, crontab: [] });
    await jobs.start();
    await addJob(stage.db, 'see', 'it');
    await until('it was seen', () => seen.length === 1);
    await jobs.close(2_000);
    await stage.close();
  });
});
