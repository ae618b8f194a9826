import { openServer, type TestServer, until } from '@troupe/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { start, startProcess, type Told } from './command.ts';

let server: TestServer;
/** What the model does next, where it is to do something of its own. */
let fails = false;

beforeAll(async () => {
  const error = { code: 'model_refused', message: 'The model says no.', retryable: false };
  server = await openServer({
    postgresUrl: inject('postgresUrl'),
    script: () => (fails ? { error } : { text: 'Yes.' }),
  });
});
afterAll(() => server.close());

async function told(words: string[], options: { secret?: string; env?: Record<string, string> } = {}) {
  const command = start(words, { url: server.url, ...options });
  await command.done;
  return command as Told;
}

async function parsed(words: string[], options: { secret?: string; env?: Record<string, string> } = {}) {
  const { code, out, err } = await told([...words, '--json'], options);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
}

async function refused(...words: string[]) {
  const { code, out, err } = await told([...words, '--json']);
  expect(out).toBe('');
  return { code, ...JSON.parse(err).error };
}

it('changes an agent field by field, and clears what can be cleared', async () => {
  await parsed(['agents', 'create', 'Ada', '--prompt', 'Be kind.']);
  const words = ['--prompt', 'Be brief.', '--description', 'Sums', '--name', 'Ada B', '--notes', 'Why not'];
  expect(await parsed(['agents', 'update', 'ada', ...words])).toMatchObject({
    name: 'Ada B',
    systemPrompt: 'Be brief.',
    description: 'Sums',
    version: 2,
  });
  const [version] = await parsed(['agents', 'versions', 'Ada B']);
  expect(version).toMatchObject({ version: 2, notes: 'Why not' });
  expect(await parsed(['agents', 'update', 'Ada B', '--name', 'Ada', '--description', 'none'])).toMatchObject(
    { name: 'Ada', description: null, systemPrompt: 'Be brief.' },
  );
  expect(await refused('agents', 'update', 'Ada')).toMatchObject({ code: 'usage' });
});

it('plans: made, listed, shown, canceled and deleted, by id or name; and what a service would start', async () => {
  await parsed(['agents', 'create', 'Planner']);
  const daily = ['--cron', '0 9 * * *', '--time-zone', 'Europe/Zurich', '--instruction', 'Tidy up.'];
  const made = await parsed(['plans', 'create', 'Planner', 'Every morning', ...daily]);
  expect(made).toMatchObject({ cron: '0 9 * * *', timeZone: 'Europe/Zurich', instruction: 'Tidy up.' });
  expect(made.nextRuns).toHaveLength(5);
  await parsed(['plans', 'create', 'Planner', 'Later', '--run-after', '2 hours']);
  await parsed(['plans', 'create', 'Planner', 'Once', '--scheduled-at', '2100-01-01T00:00:00Z']);
  expect((await told(['plans', 'list', 'Planner'])).out).toMatch(/Every morning +pending +20/);
  expect(await parsed(['plans', 'get', 'planner', 'every MORNING'])).toMatchObject({ id: made.id });
  expect(await parsed(['plans', 'cancel', 'Planner', made.id])).toMatchObject({ status: 'canceled' });
  const pending = await parsed(['plans', 'list', 'Planner', '--status', 'pending']);
  expect(pending.map(({ name }: { name: string }) => name)).toEqual(['Once', 'Later']);
  expect((await told(['plans', 'delete', 'Planner', 'Later'])).out).toBe('Later is deleted\n');
  expect(await refused('plans', 'get', 'Planner', 'Later')).toMatchObject({ code: 'plan_not_found' });
  expect(await refused('plans', 'create', 'Planner', 'x')).toMatchObject({ code: 'plan_without_time' });
  expect(await refused('plans', 'list', 'Planner', '--status', 'x')).toMatchObject({ code: 'usage' });
  const run = await parsed(['agents', 'trigger', 'Planner', 'billing', '{"invoice": 7}']);
  expect(await parsed(['runs', 'show', run.runId])).toMatchObject({
    trigger: { serviceName: 'billing', payload: { invoice: 7 } },
  });
  expect(await refused('agents', 'trigger', 'Planner', 'billing', '{')).toMatchObject({ code: 'usage' });
});

it('sessions: shown, forked, followed, retried, canceled and deleted', async () => {
  const { sessionId } = await parsed(['chat', 'Ada', 'Well?']);
  expect(await parsed(['sessions', 'list', 'Ada'])).toMatchObject([{ id: sessionId, status: 'pending' }]);
  expect((await told(['sessions', 'list', 'Ada'])).out).toContain(`${sessionId}  pending`);
  expect(await parsed(['sessions', 'show', 'Ada', sessionId])).toMatchObject({ id: sessionId });
  const messages = await parsed(['sessions', 'messages', 'Ada', sessionId]);
  expect((await told(['sessions', 'messages', 'Ada', sessionId])).out).toBe(
    '1  user: Well?\n2  assistant: Yes.\n',
  );
  const events = await parsed(['sessions', 'events', 'Ada', sessionId]);
  const following = start(['sessions', 'events', 'Ada', sessionId, '--follow', '--json'], {
    url: server.url,
  });
  const seen = () => following.out.trimEnd().split('\n');
  await until('all events are shown', () => seen().length === events.length);
  expect(seen().map((line) => JSON.parse(line))).toEqual(events);
  following.interrupt();
  expect(await following.done).toBe(130);

  const forked = await parsed(['sessions', 'fork', 'Ada', sessionId, messages[1].id, '--title', 'Again']);
  expect(forked).toMatchObject({ title: 'Again' });
  expect(forked.id).not.toBe(sessionId);
  expect(await parsed(['sessions', 'cancel', 'Ada', sessionId])).toMatchObject({ id: sessionId });
  expect(await refused('sessions', 'retry', 'Ada', sessionId)).toMatchObject({ code: 'not_failed' });
  expect((await told(['sessions', 'delete', 'Ada', forked.id])).out).toBe(`${forked.id} is deleted\n`);
  expect(await refused('sessions', 'show', 'Ada', forked.id)).toMatchObject({
    code: 'not_found',
    status: 404,
  });
  expect(await refused('sessions', 'show', 'Ada', 'seven')).toMatchObject({ code: 'usage' });
});

it('a turn that failed says how to come back, to people and to programs', async () => {
  fails = true;
  const { code, out, err } = await told(['chat', 'Ada', 'Please.']);
  expect([code, out]).toEqual([1, '']);
  const lines =
    /^error: The model says no\.\nTry it again with: troupe (.*)\nGo on with: troupe chat Ada --session (\S+)\n$/;
  const [, again, sessionId] = lines.exec(err)!;
  const failure = await refused('chat', 'Ada', 'Please.');
  expect(failure).toMatchObject({ code: 'model_refused', message: 'The model says no.' });
  expect(failure).toMatchObject({ sessionId: expect.any(String), runId: expect.any(String) });
  const more = await refused('chat', 'Ada', 'More.', '--session', sessionId!);
  expect(more).toMatchObject({ code: 'session_failed', status: 409, sessionId });
  fails = false;
  expect(await parsed(again!.split(' '))).toMatchObject({ id: sessionId });
});

it('providers and models, by name; keys of providers from the environment or stdin alone', async () => {
  const words = ['providers', 'add', 'openai_compatible', '--base-url', 'http://127.0.0.1:9/v1', '--name'];
  expect(await parsed([...words, 'Local'])).toMatchObject({ name: 'Local', keySet: false });
  const env = { LOCAL_KEY: 'sk-from-env' };
  expect(await parsed([...words, 'With env', '--api-key-env', 'LOCAL_KEY'], { env })).toMatchObject({
    keySet: true,
  });
  expect(await parsed([...words, 'Piped', '--api-key-stdin'], { secret: 'sk-piped' })).toMatchObject({
    keySet: true,
  });
  expect(await refused(...words, 'None', '--api-key-env', 'NO_SUCH')).toMatchObject({
    code: 'variable_not_set',
  });
  expect(await refused(...words, 'None', '--api-key-stdin')).toMatchObject({ code: 'no_value' });
  expect(await refused('providers', 'add', 'opnai')).toMatchObject({
    code: 'usage',
    hint: 'Did you mean openai?',
  });

  const model = await parsed([
    ...['models', 'add', 'local', 'llama3', '--default', '--name', 'Llama', '--input-price', '0.5'],
    ...['--output-price', '1.5', '--context-tokens', '8192', '--max-output-tokens', '1024'],
  ]);
  expect(model).toMatchObject({
    modelId: 'llama3',
    displayName: 'Llama',
    isDefault: true,
    inputPrice: 0.5,
    outputPrice: 1.5,
    contextTokens: 8192,
    maxOutputTokens: 1024,
  });
  expect(await parsed(['models', 'list', '--provider', 'Local'])).toEqual([model]);
  expect((await told(['models'])).out).toContain('llama3');
  expect(await parsed(['agents', 'update', 'Ada', '--model', 'Llama'])).toMatchObject({
    defaultModelId: model.id,
  });
  expect(await refused('models', 'remove', 'llama3')).toMatchObject({ code: 'in_use', status: 409 });
  expect(await parsed(['agents', 'update', 'Ada', '--model', 'none'])).toMatchObject({
    defaultModelId: null,
  });
  expect(await refused('models', 'add', 'Local', 'x', '--input-price', 'much')).toMatchObject({
    code: 'usage',
  });
  // The default of the project is in use until another is.
  await parsed(['models', 'add', 'Piped', 'other', '--default']);
  expect((await told(['models', 'remove', 'llama3'])).out).toBe('Llama is removed\n');
  expect(await refused('models', 'remove', 'llama3')).toMatchObject({ code: 'model_not_found' });
  expect(await parsed(['providers', 'remove', 'Local'])).toEqual({ id: expect.any(String) });
  expect((await parsed(['providers', 'list'])).map(({ name }: { name: string }) => name)).not.toContain(
    'Local',
  );
});

it('keys: made, listed without themselves, revoked by name', async () => {
  const key = await parsed(['keys', 'create', 'CI', '--scopes', 'runs:read', '--expires', '2100-01-01']);
  expect(key).toMatchObject({ kind: 'secret', scopes: ['runs:read'], key: expect.stringMatching(/^tsk_/) });
  const list = await told(['keys']);
  expect(list.out).toContain('CI');
  expect(list.out).not.toContain(key.key);
  expect(await refused('keys', 'create', 'x', '--scopes', 'everything')).toMatchObject({ code: 'usage' });
  expect((await told(['keys', 'revoke', 'ci'])).out).toBe('ci is revoked\n');
  expect((await parsed(['keys', 'list']))[0].revokedAt).not.toBeNull();
  expect(await refused('keys', 'revoke', 'ci')).toMatchObject({ code: 'key_not_found' });
});

it('secrets: their values come from stdin, and are never shown', async () => {
  const set = startProcess(['secrets', 'set', 'SHARED', '--json'], {
    url: server.url,
    input: 'two\nlines\n',
  });
  const { code, out } = await set.done;
  expect([code, JSON.parse(out)]).toMatchObject([0, { name: 'SHARED' }]);
  expect((await parsed(['secrets', 'list'])).map(({ name }: { name: string }) => name)).toEqual(['SHARED']);
  expect((await told(['secrets', 'delete', 'SHARED'])).out).toBe('SHARED is deleted\n');
  expect(await parsed(['secrets'])).toEqual([]);
});

it('budgets: set for the project and by name, changed, listed and deleted', async () => {
  await parsed(['agents', 'create', 'Purse']);
  const set = (...words: string[]) => parsed(['budgets', 'set', ...words]);
  expect(await set('project', '--cost', '12.5')).toMatchObject({
    scope: 'project',
    unit: 'cost',
    amount: 12.5,
  });
  const first = await set('agent', 'purse', '--tokens', '5000', '--on-exhausted', 'wait');
  expect(first).toMatchObject({ name: 'Purse', amount: 5_000, onExhausted: 'wait', spent: 0 });
  expect(await set('agent', 'purse', '--tokens', '9000')).toMatchObject({ id: first.id, amount: 9_000 });
  expect((await told(['budgets', 'list'])).out).toMatch(/agent +Purse +tokens +9000 +0 +0 +stop/);
  expect(await refused('budgets', 'set', 'agent', 'purse')).toMatchObject({ code: 'usage' });
  expect(await refused('budgets', 'set', 'agent', '--tokens', '1')).toMatchObject({ code: 'usage' });
  expect(await refused('budgets', 'set', 'town', 'x', '--tokens', '1')).toMatchObject({ code: 'usage' });
  expect(await refused('budgets', 'set', 'project', '--tokens', '1.5')).toMatchObject({
    code: 'amount_not_whole',
  });
  const gone = await told(['budgets', 'delete', 'agent', 'purse', '--unit', 'tokens']);
  expect(gone.out).toBe('The budget of tokens is deleted\n');
  await parsed(['budgets', 'delete', 'project', '--unit', 'cost']);
  expect(await refused('budgets', 'delete', 'project', '--unit', 'cost')).toMatchObject({
    code: 'not_found',
  });
  expect(await parsed(['budgets'])).toEqual([]);
});

it('with --json every error is JSON, with a code', async () => {
  expect(await refused('fly')).toMatchObject({ code: 'usage' });
  expect(await refused('agents', 'export', 'Ada', '--format', 'yaml')).toMatchObject({
    message: '--json and --format yaml exclude each other',
  });
  expect(await refused('agents', 'get', 'Nobody')).toMatchObject({ code: 'agent_not_found' });
  expect(await refused('agents', 'import', '/no/such/file')).toMatchObject({ code: 'file_unreadable' });
  expect(await refused('agents', 'list', '--url', 'http://127.0.0.1:9')).toMatchObject({
    code: 'server_unreachable',
    hint: expect.stringContaining('--url'),
  });
  const { code, err } = await told(['agents', 'get', 'Nobody']);
  expect([code, err]).toEqual([1, expect.stringMatching(/^error: /)]);
});

it('retention: rules of the project and of an agent, and what they would delete', async () => {
  await parsed(['agents', 'create', 'Forgetful']);
  const rules = { sessions: { deleteAfterDays: 30 }, runs: { keepResultAfterDays: 7, deleteAfterDays: 90 } };
  expect(await parsed(['retention', 'set', 'sessions=30', 'results=7', 'runs=90'])).toEqual(rules);
  await parsed(['retention', 'set', 'files=1', '--agent', 'Forgetful']);
  expect(await parsed(['retention', 'get'])).toMatchObject({
    project: rules,
    agents: [{ rules: { files: { deleteAfterDays: 1 } } }],
  });
  const preview = await parsed(['retention', 'preview']);
  expect(preview).toContainEqual({ kind: 'sessions', count: 0, bytes: 0, oldest: null, truncated: false });
  expect((await told(['retention', 'get'])).out).toContain('results   7');
  expect(await refused('retention', 'set', 'sessions=soon')).toMatchObject({ code: 'usage' });
  expect(await parsed(['retention', 'set', 'none'])).toEqual({});
});
