import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start, type Told } from './command.ts';

let server: TestServer;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-triggers-'));
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: () => ({ text: 'Yes.' }),
    triggers: true,
  });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function told(...words: string[]): Promise<Told> {
  const command = start(words, { url: server.url });
  await command.done;
  return command as Told;
}

async function parsed(...words: string[]) {
  const { code, out, err } = await told(...words, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}

it('applies the rules of the source as they stand, and shows, tests, redelivers and deletes them', async () => {
  const file = new URL('../../../examples/triggers.json', import.meta.url).pathname;
  const applied = await told('triggers', 'apply', file);
  expect([applied.code, applied.err]).toEqual([0, '']);
  expect(applied.out).toMatch(/on-user-message +created +1\n/);
  expect((await parsed('triggers', 'apply', file)).map((one: { outcome: string }) => one.outcome)).toEqual(
    Array(6).fill('unchanged'),
  );
  expect((await told('triggers')).out).toContain('on-task-waiting');
  expect(await parsed('triggers', 'get', 'on-new-task')).toMatchObject({
    timeoutMs: 60_000,
    action: { url: '/webhook/agent-init' },
  });

  const agent = await parsed('agents', 'create', 'Ada');
  expect((await told('chat', 'Ada', 'hello')).code).toBe(0);
  const [delivery] = await until('delivered', async () => {
    const found = await parsed('triggers', 'deliveries', 'on-user-message', '--status', 'delivered');
    return found.length === 1 && found;
  });
  const line = `${delivery.id}  on-user-message  create  messages/${delivery.documentId}  delivered`;
  expect((await told('triggers', 'deliveries')).out).toContain(line);
  const whole = await parsed('triggers', 'delivery', delivery.id);
  expect(JSON.parse(whole.log[0].response.body).found).toMatchObject({ runId: expect.any(String) });
  expect((await told('triggers', 'delivery', delivery.id)).out).toMatch(
    /\nattempt 1, \S+, \d+ ms: POST \/webhook\/orchestrator\n {2}200 \{"handler"/,
  );
  expect(await parsed('triggers', 'deliveries', '--document', delivery.documentId)).toHaveLength(1);
  expect(await parsed('triggers', 'redeliver', delivery.id)).toMatchObject({ id: delivery.id });
  await until('again', async () => (await parsed('triggers', 'delivery', delivery.id)).attempts === 2);
  expect((await told('triggers', 'redeliver', 'on-user-message')).out).toBe('0 will be delivered again\n');

  const tested = await told('triggers', 'test', 'on-user-message');
  expect([tested.code, tested.out]).toEqual([0, expect.stringContaining('the condition holds')]);
  const wrong = join(folder, 'wrong.yaml');
  writeFileSync(
    wrong,
    `- name: wrong\n  collection: sessions\n  events: [create]\n  condition: event.document.titel == 'x'\n  action: { type: run, agent: ${agent.id}, instruction: Look. }\n`,
  );
  const found = await told('triggers', 'test', wrong);
  expect([found.code, found.out]).toEqual([1, expect.stringContaining('has no field "titel"')]);
  const refused = await told('triggers', 'apply', wrong);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('triggers.0.condition')]);
  const empty = join(folder, 'empty.json');
  writeFileSync(empty, '[]');
  expect((await told('triggers', 'delete', 'on-new-task')).out).toBe('on-new-task is deleted\n');
  expect(await parsed('triggers', 'disable', 'on-task-waiting')).toMatchObject({ enabled: false });
  expect(await parsed('triggers', 'enable', 'on-task-waiting')).toMatchObject({ enabled: true });
  expect(await parsed('triggers', 'apply', empty, '--prune')).toHaveLength(5);
  expect((await told('triggers', 'list')).out).toBe('none\n');
  writeFileSync(empty, '[1]');
  expect((await told('triggers', 'apply', empty)).err).toContain('holds no list of triggers');
});
