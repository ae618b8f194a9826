import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { migrate } from '@troupe/server';
import { createDatabase, openKernel, violations } from '@troupe/testing';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { RELEASED, readSignatures } from '../../../../tools/schema/signatures.ts';
import { readSchemaSource, type SchemaSource } from '../../src/store/migrate.ts';
import { parseSourceFile } from '../../src/store/sources.ts';

const CALLERS = 3;
const RUNS_AFTERWARDS = 2;

test('functions that the last release calls keep their signature', async () => {
  const released = readFileSync(resolve(import.meta.dirname, '../../../..', RELEASED), 'utf8').trim();
  const { url, drop } = await createDatabase(inject('postgresUrl'), 'template');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const present = new Set((await readSignatures(client)).values());
    // A missing one: keep the function under its name and signature until the next release, and give the new one another name.
    expect(released.split('\n').filter((signature) => !present.has(signature))).toEqual([]);
    expect(released).not.toBe('');
  } finally {
    await client.end();
    await drop();
  }
});

/** A release in which every function and trigger has another text, and a function of a new name. */
function nextRelease(release: string): SchemaSource {
  const { migrations, objects } = readSchemaSource();
  const files = Map.groupBy(objects, ({ file }) => file);
  const changed = [...files].flatMap(([file, own]) =>
    parseSourceFile(file, own.map(({ sql }) => `${sql.trimEnd()}\n-- ${release}\n`).join('\n')),
  );
  const added = parseSourceFile(
    'test/count_runs.sql',
    'create or replace function troupe.count_runs(p_status text) returns bigint language sql stable as $$ select count(*) from troupe.runs r where r.status::text = p_status $$;',
  );
  return { migrations, objects: [...changed, ...added], release };
}

test('race: processes of two releases work on one database during and after the upgrade', {
  timeout: 90_000,
}, async () => {
  const fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    script: [{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, { text: 'three' }],
    tools: { add: () => 3 },
  });
  const snapshot = await fixture.snapshot({ tools: [{ name: 'add', provider: 'code' }] });
  let upgrades = 0;
  const statuses: string[] = [];
  const older = async () => {
    for (let left = RUNS_AFTERWARDS; left > 0; ) {
      statuses.push((await fixture.play(snapshot)).status);
      if (upgrades === 2) left--;
    }
  };
  const newer = async () => {
    const client = new pg.Client({ connectionString: fixture.databaseUrl });
    await client.connect();
    try {
      for (const release of ['98.0.0', '99.0.0']) {
        await migrate(fixture.databaseUrl, nextRelease(release));
        upgrades++;
        const { rows } = await client.query(`select troupe.count_runs('failed') as failed`);
        expect(rows).toEqual([{ failed: '0' }]);
      }
    } finally {
      await client.end();
    }
  };
  await Promise.all([newer(), ...Array.from({ length: CALLERS }, older)]);
  // A process of the older release that starts now leaves the functions alone.
  await migrate(fixture.databaseUrl);
  expect((await fixture.play(snapshot)).status).toBe('completed');
  expect(new Set(statuses)).toEqual(new Set(['completed']));
  expect(statuses.length).toBeGreaterThan(CALLERS * RUNS_AFTERWARDS);
  const { rows } = await fixture.db.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_proc where pronamespace = 'troupe'::regnamespace and proname = 'count_runs'`,
  );
  expect(rows).toEqual([{ count: 1 }]);
  expect(await violations(fixture.db.pool)).toEqual([]);
  await fixture.close();
});
