import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServer, type TestServer } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start } from './command.ts';

let server: TestServer;
const home = mkdtempSync(join(tmpdir(), 'troupe-command-'));

beforeAll(async () => {
  server = await openServer({ postgresUrl: inject('postgresUrl') });
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

async function told(words: string[], lines: string[] = []) {
  const command = start(words, { url: server.url, lines });
  await command.done;
  const { code, out, err } = command;
  return { code, out, err };
}
async function parsed(...words: string[]) {
  const { code, out, err } = await told([...words, '--json']);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}
function file(name: string, content: string): string {
  const path = join(home, name);
  writeFileSync(path, content);
  return path;
}

const DESK = `
name: Help desk
policy: { maxSteps: 9 }
agents:
  - key: front
    isDefault: true
    routes: [writer]
  - key: writer
    allowRespond: true
    prompt: |
      Write.
`;

it('applies a file: shows what differs, asks, and changes nothing the second time', async () => {
  const path = file('desk.yaml', DESK);
  for (const lines of [[], ['n'], ['']]) {
    const refused = await told(['networks', 'apply', path], lines);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed') });
    expect(refused.out).toMatch(/\+ +\$\.agents\.writer/);
  }
  expect(await parsed('networks', 'list')).toEqual([]);
  expect(await told(['networks', 'apply', path], ['y'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('Help desk is made'),
  });
  expect(await told(['networks', 'apply', path])).toEqual({
    code: 0,
    out: 'Help desk is what the file says\n',
    err: '',
  });
  const changed = await told(['networks', 'apply', file('desk.yaml', DESK.replace('9', '4')), '--yes']);
  expect(changed).toMatchObject({ code: 0, err: '' });
  expect(changed.out).toMatch(/~ +\$\.policy\.maxSteps +9 +4\n/);
  // What `definition` prints is what `apply` takes.
  const { out } = await told(['networks', 'definition', 'help desk']);
  expect(await parsed('networks', 'apply', file('desk.json', out))).toMatchObject({ changes: [] });
  expect(await parsed('networks', 'apply', path, '--yes')).toMatchObject({
    network: { name: 'Help desk', policy: { maxSteps: 4 } },
    changes: [],
  });
});

it('prints names in the place of ids, and applies them', async () => {
  const post = (path: string, body: object) =>
    fetch(`${server.url}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then((response) => response.json() as Promise<{ id: string }>);
  const provider = await post('/providers', { kind: 'demo', name: 'Main' });
  const { id: modelId } = await post(`/providers/${provider.id}/models`, { modelId: 'small' });
  const { id: agentId } = await post('/agents', { name: 'Ada' });
  await post('/networks', { name: 'Named', agents: [{ key: 'one', agentId, modelId }] });
  const { out } = await told(['networks', 'definition', 'named']);
  expect(JSON.parse(out).agents).toMatchObject([{ agentId: 'Ada', modelId: 'Main/small' }]);
  expect(await parsed('networks', 'apply', file('named.json', out))).toMatchObject({ changes: [] });
  await told(['networks', 'delete', 'named']);
});

it('lists, shows, draws and deletes; says what is wrong with a file', async () => {
  const bad = await told([
    'networks',
    'apply',
    file('bad.yaml', 'name: bad\nagents: [{key: a, routes: [a, b]}]'),
    '--yes',
  ]);
  expect(bad.code).toBe(1);
  expect(bad.err).toContain('agents.0.routes.1: "b" is no agent of the network');
  expect(bad.err).toContain('agents.0.routes.0: leads to the agent itself');
  const unreadable: [string, string][] = [
    ['no.yaml', 'name: [x'],
    ['none.json', '{"agents": []}'],
    ['list.yaml', '- a'],
  ];
  for (const [name, content] of unreadable)
    expect(await told(['networks', 'apply', file(name, content)])).toMatchObject({
      code: 1,
      err: expect.stringContaining(name),
    });
  expect(await told(['networks', 'apply', join(home, 'absent')])).toMatchObject({
    code: 1,
    err: expect.stringContaining('no such file'),
  });
  expect((await told(['networks'])).out).toMatch(/Help desk +draft +- +2 +0/);
  expect(await parsed('networks', 'get', 'HELP DESK')).toMatchObject({ name: 'Help desk', agentCount: 2 });
  expect((await told(['networks', 'graph', 'help desk'])).out).toMatch(/front \(default\) +no +- +writer\n/);
  expect(await parsed('networks', 'copy', 'help desk', 'Second desk')).toMatchObject({
    ...{ name: 'Second desk', status: 'draft', agentCount: 2 },
  });
  expect((await told(['networks', 'copy', 'help desk', 'second DESK'])).code).toBe(1);
  expect((await told(['networks', 'copy', 'help desk'])).code).toBe(2);
  await told(['networks', 'delete', 'second desk']);
  expect(await told(['networks', 'delete', 'help desk'])).toMatchObject({
    code: 0,
    out: 'Help desk is deleted\n',
  });
  expect(await told(['networks', 'get', 'help desk'])).toMatchObject({ code: 1 });
});

it('validates, publishes, compares, rolls back, archives, and carries versions as files', async () => {
  const draft = DESK.replace('Help desk', 'Shop').replace('allowRespond: true', 'allowRespond: false');
  await told(['networks', 'apply', file('shop.yaml', draft), '--yes']);
  const wrong = await told(['networks', 'validate', 'shop']);
  expect(wrong).toMatchObject({ code: 1, out: expect.stringMatching(/agents +no_responder/) });
  const stuck = `${draft.replace('Shop', 'Stuck')}  - { key: loud, allowRespond: true }\n`;
  await told(['networks', 'apply', file('stuck.yaml', stuck), '--yes']);
  expect((await told(['networks', 'validate', 'stuck'])).out).toContain(
    'only a limit would end a run there.\n',
  );
  expect(await told(['networks', 'publish', 'shop'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('No agent may respond'),
  });
  expect(await told(['networks', 'export', 'shop'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('no version'),
  });
  const shop = DESK.replace('Help desk', 'Shop');
  await told(['networks', 'apply', file('shop.yaml', shop), '--yes']);
  expect((await told(['networks', 'validate', 'shop'])).out).toBe('Nothing is wrong with it.\n');
  const published = await told(['networks', 'publish', 'shop', '--notes', 'opened']);
  expect(published.out).toBe('shop is now at version 1\n');
  expect((await told(['networks', 'publish', 'shop'])).out).toContain('stays at version 1');
  await told(['networks', 'apply', file('shop.yaml', shop.replace('9', '4')), '--yes']);
  await told(['networks', 'publish', 'shop']);
  expect(await parsed('networks', 'diff', 'shop', '1', '2')).toEqual([
    { path: '$.policy.maxSteps', from: 9, to: 4 },
  ]);
  // Of long texts that begin alike, what differs is seen.
  const long = `${'Write well. '.repeat(20)}At`;
  for (const end of ['noon', 'night']) {
    const path = file('shop.yaml', shop.replace('Write.', `${long} ${end}.`).replace('9', '4'));
    await told(['networks', 'apply', path, '--yes']);
    await told(['networks', 'publish', 'shop']);
  }
  expect((await told(['networks', 'diff', 'shop', '3', '4'])).out).toMatch(/…\S.* noon\. +…\S.* night\.\n/);
  expect(await parsed('networks', 'rollback', 'shop', '1')).toMatchObject({ version: 1, isCurrent: true });
  expect((await told(['networks', 'versions', 'shop'])).out).toMatch(/^2 +.*\n1 .*opened/m);
  const exported = (await told(['networks', 'export', 'shop', '2'])).out;
  const path = file('shop.network.json', exported);
  expect(await parsed('networks', 'import', path, '--name', 'Second shop')).toMatchObject({
    name: 'Second shop',
    status: 'draft',
    policy: { maxSteps: 4 },
  });
  const tampered = file('tampered.json', exported.replace('Write.', 'Steal.'));
  expect(await told(['networks', 'import', tampered, '--name', 'Third'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('was changed after it was exported'),
  });
  expect(await parsed('networks', 'archive', 'shop')).toMatchObject({ status: 'archived' });
  expect(await parsed('networks', 'unarchive', 'shop')).toMatchObject({ status: 'published' });
});
