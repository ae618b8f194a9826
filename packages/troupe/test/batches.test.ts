import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start } from './command.ts';

let server: TestServer;
let hold: Promise<void> | null = null;
const home = mkdtempSync(join(tmpdir(), 'troupe-command-'));

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    jobs: true,
    script: async ({ messages }) => {
      const { text } = messages[0] as { text: string };
      if (text.includes('hold')) await hold;
      if (text.includes('fail')) return { calls: [{ name: 'unknown', arguments: {} }] };
      return { text: `You said ${text}` };
    },
  });
  const params = ['a', 'b', 'c', 'd'].map((name) => ({ name, source: 'system' }));
  const made = await fetch(`${server.url}/v1/tools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'lookup', kind: 'echo', params }),
  });
  expect(made.status).toBe(201);
  const agents = [{ key: 'front', isDefault: true, allowRespond: true }];
  const tools = [{ key: 'lookup' }];
  const path = file('desk.json', JSON.stringify({ name: 'Desk', policy: { retries: 0 }, tools, agents }));
  await told(['networks', 'apply', path, '--yes']);
  await told(['networks', 'publish', 'desk']);
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

async function told(words: string[], env: Record<string, string> = {}) {
  const command = start(words, { url: server.url, env });
  await command.done;
  const { code, out, err } = command;
  return { code, out, err };
}
async function parsed(...words: string[]) {
  const { out, err } = await told([...words, '--json']);
  expect(err).toBe('');
  return JSON.parse(out);
}
function file(name: string, content: string): string {
  const path = join(home, name);
  writeFileSync(path, content);
  return path;
}
const systemParams = async (run: string) => {
  const { rows } = await server.db.pool.query('select project_id, sealed from troupe.runs where id = $1', [
    run,
  ]);
  return JSON.parse(server.access.encryption.open(rows[0].project_id, `run ${run}`, rows[0].sealed));
};

it('invokes a network: waiting, followed, in the background', async () => {
  expect(await told(['networks', 'invoke', 'desk', 'hello', 'there'])).toEqual({
    ...{ code: 0, out: 'You said hello there\n', err: '' },
  });
  const followed = await told(['networks', 'invoke', 'desk', 'hello', '--stream']);
  expect(followed).toMatchObject({ code: 0, out: 'You said hello\n' });
  expect(followed.err).toMatch(/run\.queued[\s\S]+run\.completed/);
  const asJson = await told(['networks', 'invoke', 'desk', 'hello', '--stream', '--json']);
  const items = asJson.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(items.at(-1)).toMatchObject({ kind: 'invoked', invoked: { status: 'completed' } });
  const given = [
    '--system',
    'a=plain',
    '--system',
    `b=@${file('b', 'from file\n')}`,
    '--system',
    'c=env:OF_MINE',
  ];
  const all = ['--system-file', file('system.json', '{"a": "hidden", "d": [1]}'), ...given];
  const background = await told(
    [
      'networks',
      'invoke',
      'desk',
      '--file',
      file('input.json', '{"q": 1}'),
      '--background',
      '--json',
      ...all,
    ],
    { OF_MINE: 'from env' },
  );
  const { id } = JSON.parse(background.out);
  expect(await systemParams(id)).toEqual({ a: 'plain', b: 'from file', c: 'from env', d: [1] });
  await server.kernel.ended(id);
  const [run] = await parsed('networks', 'runs', 'desk');
  expect(run).toMatchObject({ id, response: { message: 'You said {"q":1}' } });
  expect((await told(['runs', 'show', id])).out).toMatch(/^1 +front +RESPOND ok /m);

  const failed = await told(['networks', 'invoke', 'desk', 'fail']);
  expect(failed).toMatchObject({ code: 1, out: '' });
  expect(failed.err).toMatch(/^error: [\s\S]+troupe runs show/);
  expect((await told(['networks', 'invoke', 'desk', 'fail', '--json'])).code).toBe(1);
  for (const words of [
    [],
    ['x', '--wait', '--stream'],
    ['x', '--system', 'a'],
    ['x', '--system', 'a=env:NOT_SET'],
  ])
    expect(await told(['networks', 'invoke', 'desk', ...words])).toMatchObject({ code: 2, out: '' });
  const secret = await told(['networks', 'invoke', 'desk', 'x', '--system-file', file('broken', 'hunter2')]);
  expect(secret).toMatchObject({ code: 1, err: expect.not.stringContaining('hunter2') });

  const typo = await told(['networks', 'invoke', 'desk', 'x', '--system', 'e=1']);
  expect(typo).toMatchObject({ code: 1, err: expect.stringContaining('"a", "b", "c", "d"') });

  hold = new Promise(() => {});
  const command = start(['networks', 'invoke', 'desk', 'hold'], { url: server.url });
  await until('it is followed', () => server.stream.readers === 1);
  await until(
    'it is at work',
    async () => (await parsed('networks', 'runs', 'desk'))[0].status === 'running',
  );
  command.interrupt();
  expect(await command.done).toBe(130);
  expect((await parsed('networks', 'runs', 'desk'))[0].status).toBe('running');
  hold = null;
});

it('asks what a network would do', async () => {
  const check = (action: string) => told(['networks', 'check', 'desk', 'front', action]);
  expect(await check('{"type": "RESPOND", "payload": {"message": "x"}}')).toMatchObject({
    code: 0,
    out: 'ok\n',
  });
  expect(await check('{"action": {"type": "ROUTE_TO_AGENT", "agent": "nobody"}}')).toMatchObject({
    ...{ code: 1, out: expect.stringContaining('unknown_agent') },
  });
  for (const wrong of ['nothing', '{"type": "WHAT"}']) expect((await check(wrong)).code).toBe(2);
  expect((await told(['networks', 'prompt', 'desk', 'hello'])).out).toMatch(/^agent: front[\s\S]+respond/);
  expect(await parsed('networks', 'prompt', 'desk')).toMatchObject({ agent: 'front' });
  // In a task it is answered with TASK_RESPOND, and the agent is told so.
  const answer = '{"type": "TASK_RESPOND", "payload": {"message": "x"}}';
  expect(await check(answer)).toMatchObject({ code: 1, out: expect.stringContaining('not_a_task') });
  expect(await told(['networks', 'check', 'desk', 'front', answer, '--delegated'])).toMatchObject({
    code: 0,
    out: 'ok\n',
  });
  const { system } = await parsed('networks', 'prompt', 'desk', 'hello');
  expect((await parsed('networks', 'prompt', 'desk', 'hello', '--delegated')).system).not.toBe(system);
});

it('runs a batch of a file: watched, listed, its results as a file, resumed and deleted', async () => {
  const path = file('rows.csv', 'input,metadata.n\none,1\nfail,2\n,3\n');
  const { id } = await parsed('batches', 'create', 'desk', path, '--iterations', '2', '--name', 'mine');
  const watched = await told(['batches', 'watch', id]);
  expect(watched.code).toBe(1);
  expect(watched.out).toMatch(/completed: 4 of 4, 0 at work, 2 failed, 0 canceled, 1 bad rows\n$/);
  expect(await parsed('batches', 'list', 'desk')).toMatchObject([{ id, name: 'mine', status: 'completed' }]);
  expect((await told(['batches', 'list', 'desk'])).out).toMatch(/id +name +status +version +total/);
  expect(await parsed('batches', 'items', id, '--status', 'failed')).toMatchObject([{ row: 2 }, { row: 2 }]);
  expect((await told(['batches', 'results', id, '--format', 'csv'])).out.split('\r\n')).toHaveLength(7);
  expect((await told(['batches', 'results', id])).out.trim().split('\n')).toHaveLength(5);
  expect(await parsed('batches', 'resume', id, '--failed')).toMatchObject({ status: 'running' });
  await told(['batches', 'watch', id]);
  expect(await parsed('batches', 'cancel', id)).toMatchObject({ status: 'completed' });
  expect(await parsed('batches', 'get', id)).toMatchObject({ counts: { completed: 2, failed: 2, bad: 1 } });
  expect(await told(['batches', 'delete', id])).toMatchObject({ code: 0, out: `${id} is deleted\n` });
  expect(await told(['batches', 'get', id])).toMatchObject({ code: 1 });
  const lines = file('rows.ndjson', '"one"\n"two"\n');
  const well = await parsed('batches', 'create', 'desk', lines, '--concurrency', '1');
  expect((await told(['batches', 'watch', well.id, '--json'])).code).toBe(0);
  expect((await told(['batches', 'create', 'desk', file('rows.txt', '"x"')])).code).toBe(2);
  expect(await told(['batches', 'get', 'no-id'])).toMatchObject({ code: 2 });
  const broken = await told(['batches', 'create', 'desk', file('bad.csv', 'input,expected\na,b\n')]);
  expect(broken).toMatchObject({ code: 1, err: expect.stringContaining('metadata.expected') });
});
