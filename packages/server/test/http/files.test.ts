import type { File, Session, Todo, ToolCall } from '@troupe/protocol';
import { FILE_LIMITS } from '@troupe/protocol';
import { Troupe } from '@troupe/sdk';
import { newId } from '@troupe/server';
import { openServer, stopwatch, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

// Files, to-do lists and code, from the API to the rows: once with a model that does what the message says in JSON, once with
// the demo model, which calls what it is told to call.
// Long because all of it shares the servers, which take longer to start than most of the tests.

const CARRIED = ['file_system', 'todo_list', 'sandbox'];
let server: TestServer;
let demo: TestServer;
let agentId: string;
let troupe: Troupe;

beforeAll(async () => {
  const postgresUrl = inject('postgresUrl');
  [server, demo] = await Promise.all([
    openServer({
      postgresUrl,
      script: ({ messages }) => {
        const last = messages.at(-1)!;
        const calls = last.role === 'user' ? JSON.parse(last.text, repeated) : [];
        return calls.length > 0 ? { calls } : { text: 'Done.' };
      },
    }),
    openServer({ postgresUrl }),
  ]);
  troupe = new Troupe({ baseUrl: server.url });
  agentId = await carrier(troupe);
});
afterAll(async () => {
  for (const { db } of [server, demo]) expect(await violations(db.pool)).toEqual([]);
  await Promise.all([server.close(), demo.close()]);
});

/** What is too long for a message is made by the model. */
function repeated(_: string, value: unknown): unknown {
  const { repeat } = (value ?? {}) as { repeat?: unknown };
  return typeof repeat === 'number' ? 'x'.repeat(repeat) : value;
}

async function carrier(client: Troupe, config: object = {}): Promise<string> {
  const capabilities = CARRIED.map((id) => ({ id, ...(id === 'sandbox' ? { config } : {}) }));
  const agent = await client.agents.create({ body: { name: `agent ${newId()}`, capabilities } as never });
  return agent.id;
}

type Opened = Awaited<ReturnType<Troupe['open']>>;
let counted = 0;
/** What the tools gave, in the order of the calls: the output, or the code of the error. */
async function call(session: Opened, ...calls: [name: string, args: object][]): Promise<unknown[]> {
  const asked = calls.map(([name, args]) => ({ id: `c${counted++}`, name, arguments: args }));
  const { posted } = await session.sendAndWait(JSON.stringify(asked));
  const run = (await troupe.runs.get({ params: { runId: posted.run!.id } })) as unknown as {
    calls: ToolCall[];
  };
  return asked.map(({ id }) => {
    const done = run.calls.find((one) => one.id === id)!;
    return done.error ? (done.error as { code: string }).code : done.output;
  });
}
const open = () => troupe.open(agentId);
const at = (session: Opened | Session, path = '') =>
  `${server.url}/v1/agents/${session.agentId}/sessions/${session.id}/files${path}`;

describe('files', () => {
  test('are written, read, listed, searched, looked at and deleted by an agent', async () => {
    const session = await open();
    expect(
      await call(session, ['write_file', { path: 'notes/plan.md', content: 'one\ntwo é\nthree' }]),
    ).toEqual([{ path: '/notes/plan.md', size: 16, created: true }]);
    await call(session, ['write_file', { path: '/bin/x', content: 'AAEC/w==', encoding: 'base64' }]);
    expect(
      await call(
        session,
        ['read_file', { path: '/notes/plan.md' }],
        ['read_file', { path: '/bin/x' }],
        ['read_file', { path: '/notes/plan.md', offset: 4, limit: 5 }],
        ['read_file', { path: '/bin/x', encoding: 'utf-8' }],
        ['list_directory', {}],
        ['list_directory', { path: '/notes' }],
        ['grep_files', { pattern: '^t', path_pattern: '*.md' }],
        ['grep_files', { pattern: 'one', path_pattern: '/bin/**' }],
        ['stat_file', { path: '/notes' }],
        ['stat_file', { path: '/bin/x' }],
      ),
    ).toEqual([
      { path: '/notes/plan.md', content: 'one\ntwo é\nthree', encoding: 'utf-8', size: 16 },
      { path: '/bin/x', content: 'AAEC/w==', encoding: 'base64', size: 4 },
      // Not half of the é.
      {
        path: '/notes/plan.md',
        content: 'two ',
        encoding: 'utf-8',
        size: 16,
        truncated: true,
        nextOffset: 8,
      },
      'not_text',
      {
        path: '/',
        entries: [
          { name: 'bin', kind: 'directory', size: 4 },
          { name: 'notes', kind: 'directory', size: 16 },
        ],
        total: 2,
        truncated: false,
      },
      { path: '/notes', entries: [{ name: 'plan.md', kind: 'file', size: 16 }], total: 1, truncated: false },
      {
        matches: [
          { path: '/notes/plan.md', line: 2, text: 'two é' },
          { path: '/notes/plan.md', line: 3, text: 'three' },
        ],
        files: 1,
        truncated: false,
      },
      { matches: [], files: 0, truncated: false },
      { path: '/notes', kind: 'directory', files: 1, size: 16 },
      expect.objectContaining({ kind: 'file', size: 4, type: 'application/octet-stream' }),
    ]);
    expect(
      await call(
        session,
        ['read_file', { path: '/../notes/plan.md' }],
        ['read_file', { path: '/none' }],
        ['read_file', { path: '/notes' }],
        ['list_directory', { path: '/none' }],
        ['write_file', { path: '/notes', content: 'x' }],
        ['write_file', { path: '/bin/x/y', content: 'x' }],
        ['write_file', { path: '/b', content: '***', encoding: 'base64' }],
        ['delete_file', { path: '/notes' }],
        ['delete_file', { path: '/none' }],
      ),
    ).toEqual([
      'path_invalid',
      'file_not_found',
      'is_a_directory',
      'file_not_found',
      'is_a_directory',
      'not_a_directory',
      'not_base64',
      'is_a_directory',
      'file_not_found',
    ]);
    expect(await call(session, ['delete_file', { path: '/notes', recursive: true }])).toEqual([
      { path: '/notes', deleted: 1 },
    ]);
    expect((await session.files.list()).map(({ path }) => path)).toEqual(['/bin/x']);
  });

  test('are the same for people, to the byte, and are never shown as a page', async () => {
    const session = await open();
    const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    expect(await session.files.write('/a/data.bin', bytes)).toMatchObject({ path: '/a/data.bin', size: 300 });
    expect(await session.files.readBytes('/a/data.bin')).toEqual(bytes);
    await session.files.write("/a/it's.html", '<script>');
    const response = await fetch(at(session, `/content?path=${encodeURIComponent("/a/it's.html")}`));
    expect([...response.headers]).toEqual(
      expect.arrayContaining([
        ['content-type', 'text/html'],
        ['content-disposition', "attachment; filename*=UTF-8''it%27s.html"],
        ['x-content-type-options', 'nosniff'],
        ['content-security-policy', "default-src 'none'; sandbox"],
      ]),
    );
    expect(await response.text()).toBe('<script>');
    expect(await call(session, ['read_file', { path: "/a/it's.html" }])).toMatchObject([
      { content: '<script>' },
    ]);
    expect((await session.files.list('/a')).length).toBe(2);
    expect(await session.files.list('/b')).toEqual([]);
    await session.files.delete("/a/it's.html");
    await expect(session.files.read("/a/it's.html")).rejects.toMatchObject({
      code: 'file_not_found',
      status: 404,
    });
    await expect(session.files.read('/a')).rejects.toMatchObject({ code: 'is_a_directory' });
    await expect(session.files.delete('/a')).rejects.toMatchObject({ code: 'is_a_directory' });
    await expect(session.files.write('/a/../b', 'x')).rejects.toMatchObject({
      code: 'path_invalid',
      status: 422,
    });
    await session.files.delete('/', { recursive: true });
    expect(await session.files.list()).toEqual([]);
  });

  test('of one session are not those of another; a copy begins with them; they go with the session', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const { posted } = await one.sendAndWait('[]');
    await one.files.write('/x.txt', 'mine');
    await call(one, ['write_todos', { todos: [{ content: 'a', status: 'pending' }] }]);
    expect(await call(other, ['read_file', { path: '/x.txt' }])).toEqual(['file_not_found']);
    expect(await other.files.list()).toEqual([]);
    const copy = await one.fork(posted.id);
    const forked = await troupe.run(posted.run!.id).fork({ step: 0 });
    const later = await troupe.run(posted.run!.id).continue();
    await copy.files.write('/x.txt', 'changed');
    expect(await one.files.read('/x.txt')).toBe('mine');
    expect(await later.files.read('/x.txt')).toBe('mine');
    expect((await copy.todos()).todos).toHaveLength(1);
    const rows = async (thread: string) =>
      (
        await server.db.pool.query(
          `select (select count(*) from troupe.files where thread_id = $1) + (select count(*) from troupe.file_totals where thread_id = $1)
            + (select count(*) from troupe.todo_lists where thread_id = $1) as rows`,
          [thread],
        )
      ).rows[0].rows;
    const { rows: threads } = await server.db.pool.query('select thread_id from troupe.runs where id = $1', [
      forked.id,
    ]);
    expect(await rows(threads[0].thread_id)).toBe(3);
    const { threadId } = await one.get();
    expect(await rows(threadId)).toBe(3);
    await one.delete();
    expect(await rows(threadId)).toBe(0);
  });

  test('a fork waits for whoever writes the first file at that moment, and has it', async () => {
    const session = await open();
    const { posted } = await session.sendAndWait('[]');
    const { threadId } = await session.get();
    const writer = await server.db.pool.connect();
    try {
      await writer.query('begin');
      const { rows } = await writer.query(
        `select pg_backend_pid() as pid, troupe.write_file($1, null, null, null, '/a.txt', 'abc', 'text/plain', 10, 1000)->'ok' as ok`,
        [threadId],
      );
      expect(rows[0].ok).toBe(true);
      const forking = troupe.run(posted.run!.id).fork({ step: 0 });
      await until('the fork waits', async () => {
        const waiting = await server.db.pool.query(
          'select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
          [rows[0].pid],
        );
        return waiting.rows.length > 0;
      });
      await writer.query('commit');
      const { id } = await forking;
      const { rows: copied } = await server.db.pool.query(
        `select t.files, t.bytes::int, (select count(*)::int from troupe.files f where f.thread_id = t.thread_id) as there
          from troupe.file_totals t join troupe.runs r on r.thread_id = t.thread_id where r.id = $1`,
        [id],
      );
      expect(copied).toEqual([{ files: 1, bytes: 3, there: 1 }]);
    } finally {
      writer.release(true);
    }
  });

  test('keep to their limits, exactly, however many write at once', async () => {
    const session = await open();
    const { threadId } = await session.get();
    await server.db.pool.query(
      `insert into troupe.files (thread_id, path, content, type) select $1, '/f/' || i, '', 'text/plain' from generate_series(1, 995) i`,
      [threadId],
    );
    await server.db.pool.query('insert into troupe.file_totals (thread_id, files) values ($1, 995)', [
      threadId,
    ]);
    // Held up until several are on their way, so that they are at once whatever the machine does.
    const holder = await server.db.connectDirect('holder');
    await holder.query('begin');
    await holder.query('select 1 from troupe.file_totals where thread_id = $1 for update', [threadId]);
    const writing = Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => session.files.write(`/g/${index}`, 'x')),
    );
    await until('several writers wait', async () => {
      const { rows } = await server.db.liveness.query(
        `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0].waiting >= 5;
    });
    await holder.query('commit');
    await holder.end();
    const wrote = await writing;
    expect(wrote.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    for (const one of wrote)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'too_many_files' });
    expect(await call(session, ['write_file', { path: '/more', content: '' }])).toEqual(['too_many_files']);
    // Ten thousand from code: told in time, and none of them is kept.
    expect(
      await call(session, [
        'run_code',
        { code: 'for (let i = 0; i < 10000; i++) files.write("/h/" + i, "x")' },
      ]),
    ).toEqual(['code_failed']);
    expect(await session.files.list('/h')).toEqual([]);
    await session.files.delete('/f', { recursive: true });
    const ten = new Uint8Array(FILE_LIMITS.fileBytes);
    await server.db.pool.query(
      `insert into troupe.files (thread_id, path, content, type) select $1, '/ten/' || i, convert_to(repeat('x', $2::int), 'UTF8'), 'text/plain'
        from generate_series(0, 5) i`,
      [threadId, FILE_LIMITS.fileBytes],
    );
    await server.db.pool.query(
      'update troupe.file_totals set files = files + 6, bytes = bytes + 6 * $2::int where thread_id = $1',
      [threadId, FILE_LIMITS.fileBytes],
    );
    await expect(session.files.write('/ten/6', ten)).rejects.toMatchObject({ code: 'files_full' });
    // Writing less is always possible.
    await session.files.write('/ten/0', 'x');
    const elapsed = stopwatch();
    await expect(session.files.write('/large', new Uint8Array(100_000_000))).rejects.toMatchObject({
      status: 413,
    });
    expect(elapsed()).toBeLessThan(5_000);
  });

  test('a search with a hostile pattern ends in time', async () => {
    const session = await open();
    // Without a pattern in it that an automaton could remember.
    let seed = 1;
    const next = () => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return 'ab'[(seed >> 16) & 1];
    };
    const disorder = Array.from({ length: 1_000_000 }, next).join('');
    await session.files.write('/long', 'a'.repeat(3_000_000));
    await session.files.write('/lines', disorder.replaceAll(/(.{400})/g, '$1\n'));
    const elapsed = stopwatch();
    expect(
      await call(
        session,
        ['grep_files', { pattern: '(a+)+$b' }],
        ['grep_files', { pattern: '((a{0,30}){0,30}){0,30}b' }],
        ['grep_files', { pattern: '[a-z]{1000}{1000}' }],
        ['grep_files', { pattern: '(' }],
        ['grep_files', { pattern: '(?=a)b' }],
        ['grep_files', { pattern: 'x'.repeat(5_000) }],
        ['grep_files', { pattern: '(?i)a[ab]{200}c\\b' }],
      ),
    ).toEqual([
      expect.anything(),
      'pattern_invalid',
      'pattern_invalid',
      'pattern_invalid',
      'pattern_invalid',
      'pattern_invalid',
      'grep_too_slow',
    ]);
    expect(elapsed()).toBeLessThan(25_000);
    expect(await call(session, ['grep_files', { pattern: 'aab' }])).toMatchObject([{ truncated: true }]);
  });
});

test('a to-do list is written as a whole, and people see it', async () => {
  const session = await open();
  expect(await session.todos()).toEqual({ todos: [], updatedAt: null });
  const todos: Todo[] = [
    { content: 'Read', activeForm: 'Reading', status: 'completed' },
    { content: 'Write', status: 'in_progress' },
    { content: 'Rest', status: 'pending' },
  ];
  expect(await call(session, ['write_todos', { todos }])).toEqual([
    { todos, counts: { total: 3, pending: 1, inProgress: 1, completed: 1 } },
  ]);
  expect(await call(session, ['read_todos', {}])).toMatchObject([{ todos }]);
  expect((await session.todos()).todos).toEqual(todos);
  const set = (...statuses: Todo['status'][]) => ({
    todos: statuses.map((status) => ({ content: 'x', status })),
  });
  expect(await call(session, ['write_todos', set('in_progress', 'in_progress')])).toMatchObject([
    { warning: expect.stringContaining('More than one') },
  ]);
  expect(await call(session, ['write_todos', set('pending')])).toMatchObject([
    { warning: expect.stringContaining('None') },
  ]);
  expect(await call(session, ['write_todos', set('completed')])).toEqual([
    { ...set('completed'), counts: { total: 1, pending: 0, inProgress: 0, completed: 1 } },
  ]);
  expect(await call(session, ['write_todos', set('done' as never)])).toEqual(['invalid_arguments']);
  expect((await session.todos()).todos).toEqual(set('completed').todos);
});

describe('code', () => {
  test('calculates, prints, and works on the files of its session', async () => {
    const session = await open();
    await session.files.write('/in.csv', 'a,1\nb,2\n');
    await session.files.write('/old', 'x');
    const code = `const rows = files.read('/in.csv').trim().split('\\n').map((row) => row.split(','));
      files.write('out/sum.json', JSON.stringify({ sum: rows.reduce((sum, [, n]) => sum + Number(n), 0) }));
      files.write('/bytes', Uint8Array.from([0, 255]));
      files.delete('/old');
      console.log(files.list().map((file) => file.path).join(' '), files.readBytes('/bytes').length);
      rows.length`;
    expect(await call(session, ['run_code', { code, language: 'javascript' }])).toEqual([
      {
        result: 2,
        output: '/bytes /in.csv /out/sum.json 2\n',
        changedFiles: ['/out/sum.json', '/bytes', '/old'],
      },
    ]);
    expect((await session.files.list()).map(({ path }: File) => path)).toEqual([
      '/bytes',
      '/in.csv',
      '/out/sum.json',
    ]);
    expect(await session.files.read('/out/sum.json')).toBe('{"sum":3}');
    expect(await session.files.readBytes('/bytes')).toEqual(Uint8Array.from([0, 255]));
  });

  test('that fails changes nothing, and says why', async () => {
    const session = await open();
    const brief = await troupe.open(await carrier(troupe, { timeLimitMs: 300 }));
    expect(
      await call(
        session,
        ['run_code', { code: 'files.write("/a", "x"); throw new Error("oh")' }],
        ['run_code', { code: 'files.write("/../a", "x")' }],
        ['run_code', { code: 'x', language: 'python' }],
        ['run_code', { code: 'files.write("/big", "x".repeat(2000000))' }],
      ),
    ).toEqual(['code_failed', 'code_failed', 'invalid_arguments', 'code_failed']);
    expect(await session.files.list()).toEqual([]);
    expect(await call(brief, ['run_code', { code: 'for (;;);' }])).toEqual(['code_too_slow']);
  });

  test('that fails is told in sentences, without the places around it; what it made and took away is no change', async () => {
    const session = await open();
    await session.files.write('/old', 'x');
    const codes = [
      'throw null',
      'throw new Error("oh")',
      'files.read("/none")',
      'files.write("/new", "x"); files.delete("/new"); files.write("/old", "y"); files.delete("/old")',
    ];
    const asked = codes.map((code, index) => ({ id: `t${index}`, name: 'run_code', arguments: { code } }));
    const { posted } = await session.sendAndWait(JSON.stringify(asked));
    const { calls } = await troupe.runs.get({ params: { runId: posted.run!.id } });
    const told = asked.map(({ id }) => calls.find((one) => one.id === id)!);
    const [nothing, error, absent, changed] = told;
    expect(nothing!.error!.message).toBe('The code threw null. No file was changed.');
    expect(error!.error!.message).toMatch(
      /^The code threw Error: oh\n +at .*code\.js:1:\d+\)?\nNo file was changed\.$/,
    );
    expect(absent!.error!.message).toMatch(/code\.js.*\nNo file was changed\.$/s);
    expect(absent!.error!.message).not.toContain('prelude');
    expect(changed!.output).toMatchObject({ changedFiles: ['/old'] });
    expect(await session.files.list()).toEqual([]);
  });
});

test('more files than there may be and a hundred megabytes end in time, each with a clear error', async () => {
  const session = await open();
  const { threadId } = await session.get();
  // Nine hundred are there already; more come in through the API, many at once. Each costs the same, however many are refused:
  // ten thousand would only take longer. From code it is ten thousand, above.
  await server.db.pool.query(
    `insert into troupe.files (thread_id, path, content, type) select $1, '/f/' || i, 'x', 'text/plain' from generate_series(1, 900) i`,
    [threadId],
  );
  await session.files.write('/first', 'x');
  await server.db.pool.query(
    'update troupe.file_totals set files = files + 900, bytes = bytes + 900 where thread_id = $1',
    [threadId],
  );
  const elapsed = stopwatch();
  const codes = new Map<string, number>();
  let next = 901;
  const write = async () => {
    for (let index = next++; index < 1_400; index = next++) {
      const response = await fetch(at(session, `/content?path=/f/${index + 1}`), {
        method: 'PUT',
        body: 'x',
      });
      const told = (await response.json()) as { code?: string };
      const code = told.code ?? 'written';
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, write));
  expect(Object.fromEntries(codes)).toEqual({ written: 99, too_many_files: 400 });
  expect(elapsed()).toBeLessThan(10_000);
  expect(
    await call(
      session,
      ['write_file', { path: '/big', content: { repeat: 100_000_000 } }],
      ['run_code', { code: 'files.write("/big", new Uint8Array(100_000_000))' }],
      ['run_code', { code: 'files.write("/big", "x".repeat(100_000_000))' }],
    ),
  ).toEqual(['arguments_too_large', 'code_too_large', 'code_too_large']);
});

test('an agent with noop answers, with either model', async () => {
  for (const [client, text, answer] of [
    [troupe, '[]', 'Done.'],
    [new Troupe({ baseUrl: demo.url }), 'How much is 2+2?', '4'],
  ] as const) {
    const agent = await client.agents.create({
      body: { name: `agent ${newId()}`, capabilities: [{ id: 'noop' }] },
    });
    expect((await (await client.open(agent.id)).sendAndWait(text)).text).toContain(answer);
    expect((await client.agents.preview({ params: { agentId: agent.id } })).tools).toEqual([]);
  }
});

test('the demo model uses all three', async () => {
  const client = new Troupe({ baseUrl: demo.url });
  const session = await client.open(await carrier(client));
  const said = async (text: string) =>
    (await session.sendAndWait(text)).messages.map(({ content }) => JSON.stringify(content)).join('\n');
  await said('call write_file {"path": "/hello.txt", "content": "hello"}');
  expect(await session.files.read('/hello.txt')).toBe('hello');
  expect(await said('call read_file {"path": "/hello.txt"}')).toContain('hello');
  await said('call write_todos {"todos": [{"content": "Greet", "status": "in_progress"}]}');
  expect((await session.todos()).todos).toEqual([{ content: 'Greet', status: 'in_progress' }]);
  expect(await said('call run_code {"code": "files.read(\'/hello.txt\').length * 100"}')).toContain('500');
});

test('a worker that lost its run writes nothing', async () => {
  const { toolParts } = await import('../../src/process/tool-parts.ts');
  const session = await open();
  const { posted } = await session.sendAndWait('[]');
  const { threadId } = await session.get();
  const writer = { threadId, runId: posted.run!.id, epoch: 1, worker: newId() };
  const { files, todos } = toolParts(server.db, null as never);
  const lost = { code: 'run_lost' };
  await expect(files!.write(writer, '/a', Buffer.from('x'))).rejects.toMatchObject(lost);
  await expect(files!.delete(writer, '/a', true)).rejects.toMatchObject(lost);
  await expect(files!.change(writer, new Map([['/a', Buffer.from('x')]]))).rejects.toMatchObject(lost);
  await expect(todos!.write(writer, [])).rejects.toMatchObject(lost);
  expect(await session.files.list()).toEqual([]);
});
