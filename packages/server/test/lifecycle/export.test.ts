import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, newId, silentLogger } from '@troupe/server';
import { createDatabase, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { exportProject, importProject } from '../../src/lifecycle/index.ts';
import { compiled, publish } from '../networks/published-network.ts';
import { LifecycleFixture } from './fixture.ts';

interface Line {
  table: string;
  row: Record<string, unknown>;
}

let fixture: LifecycleFixture;
let folder: string;
beforeAll(async () => {
  fixture = await LifecycleFixture.open({ jobs: true });
  folder = await mkdtemp(join(tmpdir(), 'troupe-export-'));
  const { troupe, agentId } = fixture;
  const ada = await troupe.entities.create({ body: { externalId: 'ada', displayName: 'Ada' } });
  const bob = await troupe.entities.create({ body: { externalId: 'bob' } });
  const session = await fixture.session({ user: 'ada', title: 'Umlauts: ä\u2028 "quoted"' });
  await fixture.say(session, 'use it');
  await fetch(`${fixture.server.url}/v1/agents/${agentId}/sessions/${session.id}/files/content?path=/a.bin`, {
    method: 'PUT',
    body: new Uint8Array([0, 255, 10, 13]),
    headers: { 'content-type': 'application/octet-stream' },
  });
  await fixture.say(await fixture.session({ user: 'bob' }), 'secret of bob');
  const { data } = await troupe.entities.list({ query: { agentId } });
  const space = await troupe.spaces.create({
    body: {
      name: 'shared',
      policy: 'mentions',
      members: [ada.id, bob.id, data[0]!.id].map((entityId) => ({ entityId })),
    },
  });
  const params = { spaceId: space.id };
  await troupe.spaces.post({ params, body: { senderId: ada.id, content: { text: 'said by ada' } } });
  await troupe.spaces.post({ params, body: { senderId: bob.id, content: { text: 'said by bob' } } });
  await troupe.access.putSecret({ params: { name: 'TOP' }, body: { value: 'topsecretvalue' } });
  await troupe.plans.create({
    params: { agentId },
    body: { name: 'p', instruction: 'x', cron: '0 9 * * *', timeZone: 'UTC' },
  });
  const front = { key: 'front', isDefault: true, prompt: 'Be brief.', allowRespond: true };
  await publish(fixture.db, fixture.project, compiled({ name: 'Desk', agents: [front] }));
  await troupe.retention.set({ body: { audit: { deleteAfterDays: 400 } } });
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await fixture.close();
});

const parse = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const read = async (path: string) => {
  const response = await fetch(`${fixture.server.url}${path}`);
  expect(response.status).toBe(200);
  return response.text();
};

async function target() {
  const { url, drop } = await createDatabase(inject('postgresUrl'));
  const db = new Database({ url, applicationName: 'test/import', logger: silentLogger });
  return {
    db,
    close: async () => {
      await db.close();
      await drop();
    },
  };
}

async function exported(db: Database): Promise<Line[]> {
  let text = '';
  for await (const part of exportProject(db, fixture.project)) text += part;
  const lines = parse(text);
  expect(lines.at(-1)).toEqual({ end: true, rows: lines.length - 2 });
  return lines.slice(1, -1);
}

/** Without the fields that an import changes: plans and triggers are asleep, and the audit log stays where it is. */
const comparable = (lines: Line[]) =>
  lines
    .filter(({ table }) => table !== 'audit_log')
    .map(({ table, row }) =>
      table === 'plans' ? { table, row: { ...row, status: '', next_run_at: '' } } : { table, row },
    );

test('imports what it exports: another export is equal', async () => {
  const file = join(folder, 'project.ndjson');
  const text = await read('/v1/export');
  await writeFile(file, text);
  expect(text).not.toContain('topsecretvalue');
  const header = parse(text)[0];
  expect(header).toMatchObject({
    troupe: 'export',
    kind: 'project',
    leftOut: { liveRuns: 0, secrets: ['TOP'] },
  });
  const other = await target();
  try {
    await importProject(other.db, file, {});
    expect(comparable(await exported(other.db))).toEqual(comparable(await exported(fixture.db)));
    expect(await violations(other.db.pool)).toEqual([]);
    await expect(importProject(other.db, file)).rejects.toMatchObject({ code: 'import_refused' });
    await expect(importProject(fixture.db, file)).rejects.toMatchObject({ code: 'import_refused' });
  } finally {
    await other.close();
  }
});

test('continues an import that was interrupted, and refuses a file that is not complete', async () => {
  const file = join(folder, 'whole.ndjson');
  await writeFile(file, await read('/v1/export'));
  const lines = (await readFile(file, 'utf8')).split('\n');
  const cut = join(folder, 'cut.ndjson');
  const other = await target();
  try {
    for (const broken of [lines.slice(0, -2).join('\n'), lines.join('\n').slice(0, -30), '{}']) {
      await writeFile(cut, broken);
      await expect(importProject(other.db, cut)).rejects.toMatchObject({ code: 'import_refused' });
    }
    // It ends in the middle, as a killed process does: in a table that is not there for a moment.
    await other.db.pool.query('alter table troupe.runs rename to elsewhere');
    await expect(importProject(other.db, file)).rejects.toThrow('runs');
    await other.db.pool.query('alter table troupe.elsewhere rename to runs');
    await importProject(other.db, file);
    expect(comparable(await exported(other.db))).toEqual(comparable(await exported(fixture.db)));
  } finally {
    await other.close();
  }
});

test('leaves out runs that have not ended, and says how many', async () => {
  const session = await fixture.session({ user: 'ada' });
  const run = await fixture.say(session, 'wait');
  const lines = parse(await read('/v1/export'));
  expect(lines[0].leftOut.liveRuns).toBe(1);
  expect(lines.some(({ table, row }) => table === 'runs' && row.id === run)).toBe(false);
  const file = join(folder, 'live.ndjson');
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const other = await target();
  try {
    await importProject(other.db, file, { name: 'another name' });
    const { rows } = await other.db.pool.query('select name from troupe.projects where id = $1', [
      fixture.project,
    ]);
    expect(rows).toEqual([{ name: 'another name' }]);
    expect(await violations(other.db.pool)).toEqual([]);
  } finally {
    await other.close();
    await fixture.troupe.runs.cancel({ params: { runId: run } });
  }
});

test('exports a person and a session without what belongs to others', async () => {
  const { data } = await fixture.troupe.entities.list({ query: { externalId: 'ada' } });
  const text = await read(`/v1/entities/${data[0]!.id}/export`);
  expect(text).toContain('said by ada');
  expect(text).toContain('answer to use it');
  expect(text).not.toContain('bob');
  const tables = new Set(parse(text).map(({ table }) => table));
  for (const table of ['entities', 'sessions', 'messages', 'runs', 'files', 'memberships', 'space_messages'])
    expect(tables).toContain(table);
  const sessions = parse(text).filter(({ table }) => table === 'sessions');
  const one = await read(`/v1/agents/${fixture.agentId}/sessions/${sessions[0].row.id}/export`);
  expect(parse(one)[0]).toMatchObject({ kind: 'session', id: sessions[0].row.id });
  expect(one).not.toContain('said by');
  for (const path of [
    `/v1/entities/${newId()}/export`,
    `/v1/agents/${fixture.agentId}/sessions/${newId()}/export`,
  ])
    expect((await fetch(`${fixture.server.url}${path}`)).status).toBe(404);
});

test('ends its transaction when the reader leaves, and begins none for HEAD', async () => {
  const open = async () => {
    const { rows } = await fixture.db.pool.query(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
    );
    return rows[0].n;
  };
  for (let round = 0; round < 20; round++) {
    const head = await fetch(`${fixture.server.url}/v1/export`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const response = await fetch(`${fixture.server.url}/v1/export`);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  }
  await until('no transaction is open', async () => (await open()) === 0);
});
