import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBinaries, silentLogger, startEmbedded } from '@troupe/server';
import { Jobs } from '@troupe/server/parts';
import { openKernel, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTemplate } from '../../../testing/src/global-setup.ts';
import type { EmbeddedPostgres } from '../../src/store/embedded/start.ts';
import { addJob } from '../../src/store/queries/jobs.ts';

const binaries = findBinaries(15);

// The whole of test/kernel runs on 15 in a fixture of its own (tools/check.ts); this is its shortest form.
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
    const fixture = await openKernel({
      postgresUrl: postgres.url,
      script: [{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, { text: 'three' }],
      tools: { add: () => 3 },
    });
    const ended = await fixture.play(await fixture.snapshot({ tools: [{ name: 'add', provider: 'code' }] }));
    expect(ended).toMatchObject({ status: 'completed', outcome: { text: 'three' } });
    expect((await fixture.messages(ended.thread)).map((message) => message.role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
    expect(await violations(fixture.db.pool)).toEqual([]);
    await fixture.close();
  });

  it('carries out jobs', async () => {
    const fixture = await openKernel({ postgresUrl: postgres.url, work: false });
    const seen: unknown[] = [];
    const tasks = { see: async (payload: unknown) => void seen.push(payload) };
    const jobs = new Jobs({ db: fixture.db, logger: silentLogger, tasks, crontab: [] });
    await jobs.start();
    await addJob(fixture.db, 'see', 'it');
    await until('it was seen', () => seen.length === 1);
    await jobs.close(2_000);
    await fixture.close();
  });
});
