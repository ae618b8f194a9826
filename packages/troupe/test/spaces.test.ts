import type { SpaceState } from '@troupe/sdk';
import type { Script } from '@troupe/server/parts';
import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Watching } from '../src/commands/watching.ts';
import type { Terminal } from '../src/terminal.ts';
import { start, startProcess } from './command.ts';

// One server. An agent does what the part says that has its name; one without a part says nothing.

type Turns = Exclude<Script, (...args: never[]) => unknown>;
type Request = Parameters<Extract<Script, (...args: never[]) => unknown>>[0];

let server: TestServer;
const parts = new Map<string, (request: Request) => Turns>();
const say = (text: string) => ({ calls: [{ name: 'send_message', arguments: { text } }] });

beforeAll(async () => {
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: (request) => {
      const name = /^- name: "(.*)"$/m.exec(request.system)![1]!;
      return parts.get(name)?.(request)[request.step - 1] ?? { text: '' };
    },
  });
  for (const name of ['Ada', 'Bo']) await told('agents', 'create', name);
});
afterAll(() => server.close());

async function told(...words: string[]) {
  const command = start(words, { url: server.url });
  await command.done;
  return command;
}
const asJson = async (...words: string[]) => JSON.parse((await told(...words, '--json')).out);

it('spaces and people by name: made, changed, joined, left, deleted', async () => {
  const made = await asJson(
    'spaces',
    'create',
    'Kitchen',
    '--agent',
    'Ada',
    '--agent',
    'bo',
    '--user',
    'ann',
  );
  expect(made).toMatchObject({ name: 'Kitchen', memberCount: 3 });
  expect((await told('spaces')).out).toMatch(/Kitchen +all +3/);
  const update = await asJson(
    'spaces',
    'update',
    'kitchen',
    '--policy',
    'mentions',
    '--description',
    'Cooks',
  );
  expect(update).toMatchObject({ policy: 'mentions', description: 'Cooks' });
  expect((await told('spaces', 'update', 'kitchen')).err).toMatch(/nothing to change/);
  const added = await asJson('spaces', 'add', 'Kitchen', '--user', 'bob', '--role', 'admin');
  expect(added).toMatchObject([{ name: 'bob', role: 'admin' }]);
  expect((await told('spaces', 'add', 'Kitchen')).code).toBe(2);
  expect((await told('spaces', 'remove', 'Kitchen', 'Bo')).out).toBe('Bo is removed\n');
  const members: { name: string }[] = await asJson('spaces', 'members', 'Kitchen');
  expect(members.map(({ name }) => name)).toEqual(['ann', 'Ada', 'bob']);

  const unsaid = await told('spaces', 'post', 'Kitchen', 'Hello');
  expect([unsaid.code, unsaid.err]).toEqual([1, 'error: Say who speaks with --as: ann, bob.\n']);
  expect((await told('spaces', 'post', 'Kitchen', 'Hello', 'there', '--as', 'ann')).out).toBe(
    '1  ann: Hello there\n',
  );
  expect(await asJson('spaces', 'post', 'Kitchen', 'Soup?', '--as', 'bob')).toMatchObject({ sequence: 2 });
  expect((await told('spaces', 'messages', 'Kitchen')).out).toBe('1  ann: Hello there\n2  bob: Soup?\n');
  expect((await told('spaces', 'messages', 'Kitchen', '--search', 'soup')).out).toBe('2  bob: Soup?\n');

  expect(await asJson('entities', 'create', 'cyd', '--name', 'Cyd')).toMatchObject({ displayName: 'Cyd' });
  expect((await told('entities', 'list', '--type', 'human')).out).toMatch(/human +cyd +Cyd\n/);
  expect(await asJson('entities', 'get', 'cyd')).toMatchObject({ externalId: 'cyd' });
  expect((await told('entities', 'delete', 'cyd')).out).toBe('cyd is deleted\n');
  expect((await told('entities', 'get', 'cyd')).err).toMatch(/^error: There is nobody named "cyd"/);

  await told('spaces', 'create', 'Kitchen');
  expect((await told('spaces', 'get', 'Kitchen')).err).toMatch(/^error: Several spaces are named "Kitchen"/);
  expect((await told('spaces', 'delete', made.id)).out).toBe(`${made.id} is deleted\n`);
  expect((await told('spaces', 'get', 'Cellar')).err).toMatch(/^error: There is no space "Cellar"/);
  expect((await told('runs', 'list', '--agent', 'Ada', '--agent', 'Bo')).err).toMatch(/can be given once/);
});

it('watches a conversation and takes part in it, until what it started is over', async () => {
  await told('spaces', 'create', 'Launch', '--agent', 'Ada', '--agent', 'Bo', '--user', 'ann');
  await told('spaces', 'update', 'Launch', '--policy', 'humans');
  const error = { code: 'model_refused', message: 'The model says no.', retryable: false };
  parts.set('Ada', ({ system }) => (system.includes('- message: "Ready?"') ? [say('Ready.')] : []));
  parts.set('Bo', ({ system }) => (system.includes('- message: "Go!"') ? [{ error }] : []));
  const watch = start(['spaces', 'watch', 'launch', '--as', 'ann'], { url: server.url, lines: ['Ready?'] });
  expect([await watch.done, watch.out]).toEqual([0, 'ann: Ready?\nAda: Ready.\n']);
  expect(watch.err).toContain('  (Bo has nothing to say)\n');
  const { done } = startProcess(['spaces', 'watch', 'Launch', '--as', 'ann'], {
    url: server.url,
    input: 'Go!\n',
  });
  const { code, out, err } = await done;
  // What was before, and what came.
  expect([code, out]).toEqual([0, 'ann: Ready?\nAda: Ready.\nann: Go!\n']);
  expect(err).toContain('  (Bo failed: The model says no.)\n');
});

it('only watches: who joins, what is refused; as JSON line by line; until Ctrl-C', async () => {
  const { id } = await asJson('spaces', 'create', 'Loop', '--agent', 'Ada', '--agent', 'Bo', '--user', 'ann');
  for (const name of ['Ada', 'Bo']) parts.set(name, () => [say(`${name} again.`)]);
  const limits = { chainDepth: 1, agentRuns: 1 };
  await fetch(`${server.url}/v1/spaces/${id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ limits }),
  });
  const watch = start(['spaces', 'watch', id], { url: server.url });
  const lines = start(['spaces', 'watch', id, '--json'], { url: server.url });
  await until('both are there', () => lines.out.includes('"connected"'));
  await told('spaces', 'add', id, '--user', 'bob');
  await told('spaces', 'post', id, 'Begin.', '--as', 'ann');
  await until('the guard refuses', () => watch.err.includes('not started: '));
  expect(watch.err).toContain('  (bob joined)\n');
  expect(watch.err).toMatch(/\(not started: (Ada|Bo)\. Since a person spoke, agents have started 1 runs\)/);
  await until('all is said', () => /^ann: Begin\.\n((Ada|Bo): .* again\.\n){3}/.test(watch.out));
  const items = () =>
    lines.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await until('the other has all too', () => items().filter(({ kind }) => kind === 'message').length === 4);
  await until('it has the refusal', () => items().some(({ event }) => event?.type === 'run.refused'));
  watch.interrupt();
  lines.interrupt();
  expect([await watch.done, await lines.done]).toEqual([130, 130]);
});

it('a live text has the line; what others say waits until it is done', () => {
  const shown = { out: '', err: '' };
  const terminal = {
    out: (text: string) => {
      shown.out += text;
    },
    err: (text: string) => {
      shown.err += text;
    },
    isWatched: true,
  } as Terminal;
  const watching = new Watching(terminal, null);
  const members = [
    { entityId: 'a', name: 'Ada' },
    { entityId: 'b', name: 'Bo' },
  ];
  const message = (sequence: number, id: string, senderName: string, text: string, more = {}) => ({
    ...{ sequence, id, senderName, content: { text }, tool: null, ...more },
  });
  const state = (messages: object[], live: object[]) =>
    ({ messages, live, members, activeAgents: [] }) as unknown as SpaceState;
  const live = (id: string, entityId: string, text: string) => ({ id, entityId, text, runId: 'r' });
  watching.show(state([], [live('1', 'a', 'Good ')]));
  watching.show(state([], [live('1', 'a', 'Good eve'), live('2', 'b', 'Well')]));
  expect(shown.out).toBe('Ada: Good eve');
  const other = message(1, '9', 'ann', 'Hello?');
  watching.show(state([other], [live('1', 'a', 'Good even'), live('2', 'b', 'Well, ')]));
  expect(shown.out).toBe('Ada: Good even');
  const said = message(2, '1', 'Ada', 'Good evening.');
  watching.show(state([other, said], [live('2', 'b', 'Well, ')]));
  expect(shown.out).toBe('Ada: Good evening.\nann: Hello?\nBo: Well, ');
  // It never became a message.
  watching.show(state([other, said], []));
  expect(shown.out).toBe('Ada: Good evening.\nann: Hello?\nBo: Well,  […]\n');
  const tool = (text: string) => message(3, '3', 'Ada', text, { tool: { name: 'weather' } });
  watching.show(state([other, said, tool('weather …')], []));
  watching.show(state([other, said, tool('weather …')], []));
  watching.show(state([other, said, tool('weather → "sun"')], []));
  expect(shown.err).toBe('  [Ada: weather …]\n  [Ada: weather → "sun"]\n');
  watching.stop();
});
