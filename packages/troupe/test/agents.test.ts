import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start, type Told } from './command.ts';

let server: TestServer;
const home = mkdtempSync(join(tmpdir(), 'troupe-command-'));

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

async function told(...words: string[]): Promise<Told> {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
}

/** What must go well, as JSON. */
async function parsed(...words: string[]) {
  const { code, out, err } = await told(...words, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}

const names = (list: { name: string }[]) => list.map(({ name }) => name);

it('an empty list says so', async () => {
  const archived = ['agents', 'list', '--status', 'archived'];
  expect(await told(...archived)).toMatchObject({ code: 0, out: 'none\n', err: '' });
  expect(await parsed(...archived)).toEqual([]);
  expect(names(await parsed('agents', 'list'))).toEqual(['researcher', 'general']);
});

it('creates, shows and lists, by name or id', async () => {
  const agent = await parsed('agents', 'create', 'Ada Lovelace', '--prompt', 'Be kind.\nBe brief.');
  expect(agent).toMatchObject({ name: 'Ada Lovelace', systemPrompt: 'Be kind.\nBe brief.' });
  for (const name of [agent.id, 'Ada Lovelace', 'ada lovelace'])
    expect(await parsed('agents', 'get', name)).toEqual(agent);
  const { out } = await told('agents', 'get', 'Ada Lovelace');
  expect(out).toMatch(/^name {2,}Ada Lovelace$/m);
  // The second line of a text stands below the first.
  const lines = out.split('\n');
  const at = lines.findIndex((line) => line.startsWith('systemPrompt'));
  expect(lines[at + 1]!.indexOf('Be brief.')).toBe(lines[at]!.indexOf('Be kind.'));
  const list = await told('agents');
  expect(list.out.split('\n')[0]).toMatch(/^id {2,}name {2,}version {2}description$/);
  expect(list.out).toContain(`${agent.id}  Ada Lovelace  1        -\n`);
});

it('says what an agent carries, in place of what it had; "none" clears', async () => {
  const { out } = await told('capabilities');
  expect(out).toMatch(/^id +status +description\n/);
  expect(out).toMatch(/^current_time +available +\S/m);
  const carried = ['--capabilities', 'noop, current_time', '--approvals', 'current_time'];
  expect(await parsed('agents', 'create', 'Carrier', ...carried)).toMatchObject({
    capabilities: [{ id: 'noop' }, { id: 'current_time' }],
    approvals: ['current_time'],
    tools: [],
  });
  const other = ['--capabilities', 'sandbox', '--approvals', 'none'];
  expect(await parsed('agents', 'update', 'Carrier', ...other)).toMatchObject({
    capabilities: [{ id: 'sandbox' }],
    approvals: [],
  });
  const agent = await parsed('agents', 'get', 'Carrier');
  const config = { timeLimitMs: 700 };
  await fetch(`${server.url}/v1/agents/${agent.id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ capabilities: [{ id: 'sandbox', config }] }),
  });
  const more = await parsed('agents', 'update', 'Carrier', '--capabilities', 'noop,sandbox');
  expect(more.capabilities).toMatchObject([{ id: 'noop' }, { id: 'sandbox', config }]);
  expect(await parsed('agents', 'update', 'Carrier', '--capabilities', 'none')).toMatchObject({
    capabilities: [],
  });
  expect((await told('agents', 'update', 'Carrier', '--capabilities', 'a,,b')).code).toBe(2);
  const unknown = await told('agents', 'update', 'Carrier', '--tools', 'nothing');
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('nothing')]);
});

it('changes by file, shows versions and differences, and rolls back', async () => {
  const file = join(home, 'grace.md');
  writeFileSync(file, '---\nname: Grace\ndescription: counts\n---\nCount to ten.\n');
  expect(await parsed('agents', 'import', file)).toMatchObject({ name: 'Grace', version: 1 });
  const exported = await told('agents', 'export', 'Grace');
  expect(exported.out).toMatch(/^---\n[\s\S]*name: Grace[\s\S]*Count to ten\.\n$/);
  writeFileSync(file, exported.out.replace('ten', 'twelve'));
  expect(await parsed('agents', 'import', file)).toMatchObject({ version: 2 });
  expect((await told('agents', 'export', 'Grace', '--format', 'yaml')).out).toContain('name: Grace');
  expect(JSON.parse((await told('agents', 'export', 'Grace', '--format', 'json')).out)).toMatchObject({
    name: 'Grace',
  });
  expect(await parsed('agents', 'export', 'Grace')).toMatchObject({ name: 'Grace' });
  const versions = await parsed('agents', 'versions', 'Grace');
  expect(versions.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
  const [change] = await parsed('agents', 'diff', 'Grace', '1', '2');
  expect([change.path, change.from.trim(), change.to.trim()]).toEqual([
    '$.systemPrompt',
    'Count to ten.',
    'Count to twelve.',
  ]);
  expect((await told('agents', 'diff', 'Grace', '1', '2')).out).toMatch(/Count to ten\. +Count to twelve\./);
  expect(await parsed('agents', 'rollback', 'Grace', '1')).toMatchObject({ version: 3 });
  expect((await parsed('agents', 'preview', 'Grace')).prompt).toContain('Count to ten.');
  expect((await told('agents', 'preview', 'Grace')).out).toContain('Count to ten.\n');
});

it('archives, and shows what is archived where asked', async () => {
  await parsed('agents', 'create', 'Old');
  expect(await told('agents', 'archive', 'Old')).toMatchObject({ code: 0, out: 'Old is archived\n' });
  expect(names(await parsed('agents', 'list'))).not.toContain('Old');
  expect(names(await parsed('agents', 'list', '--status', 'archived'))).toEqual(['Old']);
  expect(await parsed('agents', 'get', 'old')).toMatchObject({ status: 'archived' });
  expect(await told('agents', 'unarchive', 'old')).toMatchObject({ code: 0, out: 'Old is active\n' });
  expect(names(await parsed('agents', 'list'))).toContain('Old');
  const { id } = await parsed('agents', 'archive', 'Old', '--notes', 'Nobody asks it.');
  const { rows } = await server.db.pool.query(
    `select data->>'notes' as notes from troupe.audit_log where target = $1 and action = 'agent.archived' order by id`,
    [id],
  );
  expect(rows.map(({ notes }) => notes)).toEqual([null, 'Nobody asks it.']);
});

it('says when a list goes on', async () => {
  const { out, err } = await told('agents', 'list', '--limit', '1');
  expect([out.trim().split('\n').length, err]).toEqual([2, 'There are more; --limit shows up to 200.\n']);
});

it('shows no control characters that others wrote', async () => {
  await parsed('agents', 'create', 'Red \u001b[31malert');
  expect((await told('agents', 'list')).out).toContain('Red [31malert');
});

it('says what is wrong with a name, a file or a number', async () => {
  await parsed('agents', 'create', 'Ada Byron');
  const two = await told('agents', 'get', 'Ada');
  expect(two.err).toBe('error: There is no agent "Ada". Is it "Ada Byron" or "Ada Lovelace"?\n');
  const close = await told('agents', 'get', 'Lovelace');
  expect([close.code, close.err]).toEqual([
    1,
    'error: There is no agent "Lovelace". Is it "Ada Lovelace"?\n',
  ]);
  const { err } = await told('agents', 'get', 'Nobody');
  expect(err).toBe('error: There is no agent "Nobody". `troupe agents list` shows all.\n');
  expect(await told('agents', 'get', '00000000-0000-4000-8000-000000000000')).toMatchObject({
    code: 1,
    out: '',
  });
  expect((await told('agents', 'import', join(home, 'none.md'))).err).toContain('none.md cannot be read');
  expect((await told('agents', 'create', 'Grace')).err).toMatch(/^error: Another agent .* has this name/);
  for (const words of [
    ['get'],
    ['get', 'Ada', 'Lovelace'],
    ['create', 'Ada', 'Lovelace'],
    ['diff', 'Grace', '1'],
    ['diff', 'Grace', 'one', 'two'],
    ['export', 'Grace', '--format', 'pdf'],
    ['list', '--limit', 'many'],
    ['list', '--colour'],
    ['constructor'],
  ])
    expect([words, (await told('agents', ...words)).code]).toEqual([words, 2]);
});

it('shows what an agent remembers and pursues, for all or of one person', async () => {
  const agent = await parsed('agents', 'create', 'Mnemosyne');
  const at = `${server.url}/v1/agents/${agent.id}`;
  const send = (method: string, path: string, body: object) =>
    fetch(`${at}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await send('PUT', '/memories/name?user=ada', { value: 'Ada' });
  await send('POST', '/goals', { description: 'Rest', priority: 2 });
  expect((await told('agents', 'memories', 'Mnemosyne')).out).toBe('none\n');
  expect((await told('agents', 'memories', 'Mnemosyne', '--user', 'ada')).out).toMatch(
    /^key .*\nname {2}Ada/,
  );
  expect(await parsed('agents', 'goals', 'Mnemosyne', '--status', 'active')).toMatchObject([
    { description: 'Rest' },
  ]);
  expect(await told('agents', 'goals', 'Mnemosyne', '--status', 'open')).toMatchObject({ code: 2 });
});
