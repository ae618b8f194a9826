import type { Agent, Json, PostedMessage, Project, Run, Session, ToolCall } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, stopwatch, type TestServer, until, violations } from '@troupe/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { addFinding } from '../../src/store/queries/findings.ts';
import { Web } from '../outgoing/web.ts';

// What agents read of the web, over HTTP. One server with the demo model, one whose model calls what the message names.
// Long because all of it shares the servers, which take longer to start than most of the tests.

let demo: TestServer;
let scripted: TestServer;
let web: Web;
const KEY = 'tvly-planted-4f1d9c';

beforeAll(async () => {
  const postgresUrl = inject('postgresUrl');
  [demo, scripted, web] = await Promise.all([
    openServer({ postgresUrl }),
    openServer({
      postgresUrl,
      script: ({ messages }) => {
        const last = messages.at(-1)!;
        return last.role === 'user' ? { calls: JSON.parse(last.text) } : { text: 'done' };
      },
    }),
    Web.open(),
  ]);
  for (const server of [demo, scripted]) {
    const { id } = await send<Project>(server, 'GET', '/v1/project');
    await send(server, 'PATCH', `/v1/projects/${id}`, { outgoing: { allow: ['127.0.0.1'] } });
    await send(server, 'PUT', '/v1/secrets/TAVILY_API_KEY', { value: KEY });
  }
});
afterAll(async () => {
  for (const { db } of [demo, scripted]) expect(await violations(db.pool)).toEqual([]);
  await Promise.all([demo.close(), scripted.close(), web.close()]);
});
beforeEach(() => web.forget());

async function send<Body = unknown>(
  { url }: TestServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<Body> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return (text === '' ? null : JSON.parse(text)) as Body;
}

let agents = 0;
async function sessionOf(server: TestServer, capabilities: object[], prompt = 'Be brief.') {
  const agent = await send<Agent>(server, 'POST', '/v1/agents', {
    name: `a${agents++}`,
    systemPrompt: prompt,
    capabilities,
  });
  const path = `/v1/agents/${agent.id}/sessions`;
  const session = await send<Session>(server, 'POST', path, {});
  const say = async (text: string) => {
    const { run } = await send<PostedMessage>(server, 'POST', `${path}/${session.id}/messages`, {
      content: { text },
    });
    return until('the end', async () => {
      const now = await send<Run & { calls: ToolCall[] }>(server, 'GET', `/v1/runs/${run!.id}`);
      return now.status === 'completed' || now.status === 'failed' ? now : null;
    });
  };
  return { agent, session, say, path: `${path}/${session.id}` };
}

type Output = Record<string, Json>;
/** Calls a tool by either model; answers with what came of the call. */
async function called(
  server: TestServer,
  capabilities: object[],
  name: string,
  args: object,
): Promise<ToolCall> {
  const { say } = await sessionOf(server, capabilities);
  const { calls } = await say(
    server === demo
      ? `call ${name} ${JSON.stringify(args)}`
      : JSON.stringify([{ id: 'c', name, arguments: args }]),
  );
  expect(calls).toHaveLength(1);
  return calls[0]!;
}
const at = (path = '/') => `http://127.0.0.1:${web.port}${path}`;
const both = () => [demo, scripted];

describe('web_fetch', () => {
  const PAGE = `<!doctype html><html><head><title> A  page </title><style>p{}</style><script>steal()</script></head>
    <body><nav><a href="/menu">Menu</a></nav><h1>Bees &amp; <em>wasps</em></h1>
    <p>They <a href="/fly?a=1">fly</a>
    far.</p><p hidden>unseen</p><div style="display: none">unseen</div>
    <ul><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ul><ol><li>first</li><li>second</li></ol>
    <table><tr><th>Name</th><th>Legs</th></tr><tr><td>bee</td><td>6</td></tr></table>
    <pre><code>let a  = 1;
  b();</code></pre><p>Use <code>x</code>. <a href="javascript:x()">no link</a> <img src="/i.png" alt="a bee"></p>
    <blockquote>quoted</blockquote><footer>end</footer></body></html>`;

  test('a page becomes what a person reads of it', async () => {
    web.serve = (_request, response) =>
      response
        .writeHead(200, {
          'content-type': 'text/html; charset=utf-8',
          'last-modified': 'Mon, 01 Jun 2026 00:00:00 GMT',
        })
        .end(PAGE);
    for (const server of both()) {
      const { status, output } = await called(server, [{ id: 'web_fetch' }], 'web_fetch', {
        url: at('/bees.html'),
      });
      expect(status).toBe('completed');
      const { content, ...facts } = output as Output;
      expect(facts).toEqual({
        url: at('/bees.html'),
        status_code: 200,
        content_type: 'text/html; charset=utf-8',
        size: Buffer.byteLength(PAGE),
        last_modified: 'Mon, 01 Jun 2026 00:00:00 GMT',
        filename: 'bees.html',
        title: 'A page',
        format: 'markdown',
        truncated: false,
      });
      expect(content).toBe(
        [
          '# Bees & wasps',
          '',
          `They [fly](${at('/fly?a=1')}) far.`,
          '',
          '- one',
          '  - inner',
          '- two',
          '',
          '1. first',
          '2. second',
          '',
          '| Name | Legs |',
          '|---|---|',
          '| bee | 6 |',
          '',
          '```',
          'let a  = 1;',
          '  b();',
          '```',
          '',
          `Use \`x\`. no link ![a bee](${at('/i.png')})`,
          '',
          '> quoted',
          '',
          'end',
        ].join('\n'),
      );
    }
    const text = await called(demo, [{ id: 'web_fetch' }], 'web_fetch', { url: at(), as: 'text' });
    expect((text.output as Output).content).toContain('Bees & wasps\n\nThey fly far.');
    const raw = await called(demo, [{ id: 'web_fetch' }], 'web_fetch', { url: at(), as: 'raw' });
    expect((raw.output as Output).content).toBe(PAGE);
  });

  test.each<[string, Record<string, string>, Buffer, object]>([
    [
      'another charset',
      { 'content-type': 'text/plain; charset=iso-8859-1' },
      Buffer.from([0x4d, 0xfc]),
      { content: 'Mü', format: 'raw' },
    ],
    [
      'a charset that the page names',
      { 'content-type': 'text/html' },
      Buffer.concat([Buffer.from('<meta charset="windows-1251"><p>'), Buffer.from([0xcc, 0xe8, 0xf0])]),
      { content: 'Мир' },
    ],
    [
      'a charset that there is not',
      { 'content-type': 'text/plain; charset=klingon' },
      Buffer.from('ü'),
      { content: 'ü' },
    ],
    ['no type', {}, Buffer.from('<html><p>hi'), { content: 'hi', format: 'markdown' }],
    [
      'JSON',
      { 'content-type': 'application/ld+json' },
      Buffer.from('{"a":1}'),
      { content: '{"a":1}', format: 'raw' },
    ],
    ['zeros in text', { 'content-type': 'text/plain' }, Buffer.from('a\0b'), { content: 'ab' }],
    [
      'a picture',
      { 'content-type': 'image/png', 'content-disposition': `attachment; filename="../../x%20y.png"` },
      Buffer.from([1, 0, 2]),
      {
        content: '',
        format: 'binary',
        size: 3,
        filename: 'x y.png',
        error: expect.stringContaining('image/png'),
      },
    ],
    ['data without a type', {}, Buffer.from([1, 0, 2]), { format: 'binary' }],
    [
      'a long text',
      { 'content-type': 'text/plain' },
      Buffer.from('😀'.repeat(60_000)),
      { truncated: true, content: '😀'.repeat(50_000) },
    ],
    [
      'more than is read',
      { 'content-type': 'text/plain' },
      Buffer.alloc(3_000_000, 'a'),
      { truncated: true, content: 'a'.repeat(100_000) },
    ],
  ])('%s', async (_name, headers, body, expected) => {
    web.serve = (_request, response) => response.writeHead(200, headers).end(body);
    expect((await called(scripted, [{ id: 'web_fetch' }], 'web_fetch', { url: at() })).output).toMatchObject(
      expected,
    );
  });

  test('a status is an answer; HEAD brings no content; errors tell what to do', async () => {
    web.serve = ({ method }, response) =>
      response
        .writeHead(method === 'HEAD' ? 200 : 404, { 'content-type': 'text/plain', 'content-length': '4' })
        .end('gone');
    const fetched = (args: object) => called(scripted, [{ id: 'web_fetch' }], 'web_fetch', args);
    expect((await fetched({ url: at() })).output).toMatchObject({ status_code: 404, content: 'gone' });
    expect((await fetched({ url: at(), method: 'HEAD' })).output).toMatchObject({
      status_code: 200,
      size: 4,
      content: '',
      format: 'none',
    });
    for (const [args, code] of [
      [{ url: 'http://10.0.0.1/' }, 'address_forbidden'],
      [{ url: 'http://169.254.169.254/latest/meta-data/' }, 'address_forbidden'],
      [{ url: 'file:///etc/passwd' }, 'address_invalid'],
      [{ url: at(), method: 'DELETE' }, 'invalid_arguments'],
      [{}, 'invalid_arguments'],
    ] as const) {
      expect(await fetched(args)).toMatchObject({ status: 'failed', error: { code } });
    }
    web.serve = (_request, response) => void response.socket!.destroy();
    expect(await fetched({ url: at() })).toMatchObject({
      status: 'failed',
      error: { code: 'connection_failed' },
    });
  });

  test('a page that is nested a hundred thousand times, or has as many links, takes no time', async () => {
    const elapsed = stopwatch();
    for (const part of [
      '<div><ul><li>',
      '<a href="/x">y</a> ',
      '<table><tr><td>',
      '<blockquote>',
      '<h1>',
      '&#x110000;<b',
    ]) {
      web.serve = (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(part.repeat(Math.floor(1_000_000 / part.length)));
      expect((await called(scripted, [{ id: 'web_fetch' }], 'web_fetch', { url: at() })).status).toBe(
        'completed',
      );
    }
    expect(elapsed()).toBeLessThan(10_000);
  });
});

describe('web_search', () => {
  const search = (more: object = {}) => [{ id: 'web_search', config: { baseUrl: at(''), ...more } }];

  test('asks in the words of Tavily, and answers with what it found', async () => {
    web.serve = (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          query: 'bees',
          answer: null,
          images: [],
          results: [
            {
              title: 'Bees',
              url: 'https://bees.example/',
              content: 'They fly.',
              score: 0.9,
              raw_content: null,
            },
          ],
          response_time: '0.5',
          request_id: 'r',
        }),
      );
    for (const server of both()) {
      web.forget();
      const { output } = await called(server, search({ maxResults: 3 }), 'web_search', {
        query: 'bees',
        topic: 'news',
        time_range: 'week',
        include_domains: ['bees.example'],
      });
      expect(output).toEqual({
        query: 'bees',
        results: [{ title: 'Bees', url: 'https://bees.example/', content: 'They fly.', score: 0.9 }],
      });
      expect(web.heard).toHaveLength(1);
      const [{ method, url, headers, body }] = web.heard as [(typeof web.heard)[0]];
      expect([method, url, headers.authorization, headers['content-type']]).toEqual([
        'POST',
        '/search',
        `Bearer ${KEY}`,
        'application/json',
      ]);
      expect(JSON.parse(body)).toEqual({
        query: 'bees',
        max_results: 3,
        topic: 'news',
        time_range: 'week',
        include_domains: ['bees.example'],
      });
    }
  });

  test('the key is in nothing that comes back, whole or in part', async () => {
    const contents = [
      'x'.repeat(4_000 - KEY.length + 1) + KEY,
      encodeURIComponent(`${KEY}/`),
      Buffer.from(KEY).toString('base64'),
      JSON.stringify(JSON.stringify({ a: KEY })).replaceAll('-', '\\u002d'),
    ];
    const results = contents.map((content) => ({ title: KEY, url: `https://h/?k=${KEY}`, content }));
    web.serve = (_request, response) => response.end(JSON.stringify({ results }));
    const { output } = await called(scripted, search(), 'web_search', { query: 'q' });
    const said = JSON.stringify(output);
    expect(said).not.toContain(KEY.slice(0, -2));
    expect(said).not.toContain(Buffer.from(KEY).toString('base64').slice(0, -4));
    expect((output as { results: { content: string }[] }).results.map(({ content }) => content)).toEqual(
      contents.map(() => expect.stringMatching(/\[s/)),
    );
  });

  test.each<[number, string, string]>([
    [
      401,
      JSON.stringify({ detail: { error: `Unauthorized: ${KEY} is missing or invalid` } }),
      'search_key_refused',
    ],
    [429, '{"detail":{"error":"slow down"}}', 'search_rate_limited'],
    [432, '{"detail":{"error":"plan limit"}}', 'search_quota'],
    [400, '{"detail":"bad topic"}', 'search_refused'],
    [500, '<html>oops', 'search_unavailable'],
    [302, '', 'too_many_redirects'],
    [200, 'garbage', 'search_bad_response'],
    [200, '{"results":{}}', 'search_bad_response'],
    [200, 'null', 'search_bad_response'],
  ])('%i %s is told to the model', async (status, body, code) => {
    web.serve = (_request, response) => response.writeHead(status, { location: '/elsewhere' }).end(body);
    expect(await called(scripted, search(), 'web_search', { query: 'q' })).toMatchObject({
      status: 'failed',
      error: { code },
    });
  });

  test('results of another shape lose what does not fit; a missing key is named', async () => {
    web.serve = (_request, response) =>
      response.end(
        JSON.stringify({
          results: [null, 1, { title: 7, url: `https://x.example/?k=${KEY}`, content: 'c' }],
        }),
      );
    expect((await called(scripted, search(), 'web_search', { query: 'q' })).output).toEqual({
      query: 'q',
      results: [
        { title: '', url: 'https://x.example/?k=[secret TAVILY_API_KEY]', content: 'c', score: null },
      ],
    });
    expect(
      await called(scripted, search({ secretName: 'NOPE' }), 'web_search', { query: 'q' }),
    ).toMatchObject({
      status: 'failed',
      error: { code: 'secret_not_found', message: expect.stringContaining('"NOPE"') },
    });
  });

  test('the key is nowhere in the database', async () => {
    for (const { db } of both()) {
      const { rows } = await db.pool.query<{ name: string }>(
        `select table_name as name from information_schema.tables where table_schema = 'troupe' and table_type = 'BASE TABLE'`,
      );
      expect(rows.length).toBeGreaterThan(10);
      for (const { name } of rows) {
        const { rows: found } = await db.pool.query(
          `select 1 from troupe."${name}" t where t::text like $1`,
          [`%${KEY}%`],
        );
        expect([name, found.length]).toEqual([name, 0]);
      }
    }
  });
});

describe('research', () => {
  const carried = [{ id: 'research' }, { id: 'web_search', config: { baseUrl: 'http://127.0.0.1:1' } }];

  test('notes stay with the session, and nobody else has them', async () => {
    const finding = {
      claim: 'Bees fly.',
      source: 'https://bees.example/',
      quote: 'They fly.',
      confidence: 'high',
    };
    for (const server of both()) {
      const { say, path, session } = await sessionOf(server, [{ id: 'research' }]);
      const call = (name: string, args: object = {}) =>
        say(
          server === demo
            ? `call ${name} ${JSON.stringify(args)}`
            : JSON.stringify([{ name, arguments: args }]),
        );
      expect((await call('note_finding', finding)).calls[0]!.output).toEqual({ noted: true, findings: 1 });
      expect((await call('list_findings')).calls[0]!.output).toEqual({
        findings: [{ number: 1, ...finding }],
      });
      expect(await send(server, 'GET', `${path}/findings`)).toEqual({
        findings: [{ question: '', ...finding }],
      });
      const bad = await call('note_finding', { claim: 'x', source: 'somewhere' });
      expect(bad.calls[0]).toMatchObject({ status: 'failed', error: { code: 'source_invalid' } });
      expect((await called(server, carried, 'list_findings', {})).output).toEqual({ findings: [] });
      const kept = async () =>
        (await server.db.pool.query('select 1 from troupe.findings where thread_id = $1', [session.threadId]))
          .rows.length;
      expect(await kept()).toBe(1);
      await send(server, 'DELETE', path);
      expect(await kept()).toBe(0);
    }
  });

  test('brings the search and the pages along, with what the agent set for them', async () => {
    const { agent } = await sessionOf(scripted, carried);
    const { tools } = await send<{ tools: { name: string; config: object }[] }>(
      scripted,
      'GET',
      `/v1/agents/${agent.id}/preview`,
    );
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['web_search', 'web_fetch', 'note_finding', 'list_findings']),
    );
    expect(new Set(names).size).toBe(names.length);
    web.serve = (_request, response) => response.end('{"results":[]}');
    const own = [{ id: 'research' }, { id: 'web_search', config: { baseUrl: at('') } }];
    expect((await called(scripted, own, 'web_search', { query: 'q' })).output).toEqual({
      query: 'q',
      results: [],
    });
  });

  test('a worker that lost the run notes nothing, and a call that is carried out again notes nothing new', async () => {
    const { say, session } = await sessionOf(scripted, [{ id: 'research' }]);
    const args = { claim: 'once', source: 'https://a.example/' };
    const run = await say(JSON.stringify([{ id: 'n1', name: 'note_finding', arguments: args }]));
    const { db } = scripted;
    const worker = newId();
    await db.pool.query(
      `insert into troupe.run_heads (run_id, worker_id, epoch, version, step, input_tokens, output_tokens, cost) values ($1, $2, 7, 1, 1, 0, 0, 0)
        on conflict (run_id) do update set worker_id = excluded.worker_id, epoch = 7`,
      [run.id, worker],
    );
    const { rows } = await db.pool.query(
      'select project_id as "projectId", call_id as "callId" from troupe.findings where run_id = $1',
      [run.id],
    );
    const finding = { question: '', claim: 'again', source: '', quote: '', confidence: 'low' };
    const writer = { ...rows[0], threadId: session.threadId, runId: run.id, epoch: 7, worker };
    expect(await addFinding(db, writer, finding, 10)).toBe(1);
    expect(await addFinding(db, { ...writer, callId: 'n2', epoch: 6 }, finding, 10)).toBe('lost');
    expect(await addFinding(db, { ...writer, callId: 'n2', worker: newId() }, finding, 10)).toBe('lost');
    expect(await addFinding(db, { ...writer, callId: 'n2' }, finding, 1)).toBe('full');
    expect(await addFinding(db, { ...writer, callId: 'n2' }, finding, 10)).toBe(2);
    // Many at once: as many as there may be, and not one more.
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        addFinding(db, { ...writer, callId: `m${index}` }, finding, 6),
      ),
    );
    expect(many.filter((noted) => noted !== 'full').sort()).toEqual([3, 4, 5, 6]);
    await db.pool.query('delete from troupe.run_heads where run_id = $1', [run.id]);
  });
});

test('the same capabilities in another order are another prompt, in the preview and for the model', async () => {
  const prompts: string[] = [];
  for (const order of [
    ['web_fetch', 'web_search'],
    ['web_search', 'web_fetch'],
  ]) {
    const { agent, say } = await sessionOf(
      scripted,
      order.map((id) => ({ id })),
      'Own words.',
    );
    const { prompt } = await send<{ prompt: string }>(scripted, 'GET', `/v1/agents/${agent.id}/preview`);
    const run = await say('[]').catch(() => null);
    const given = scripted.scripted.requests.findLast(({ runId }) => runId === run?.id);
    expect(given!.system).toContain(prompt);
    expect(given!.tools.map(({ name }) => name)).toEqual(order);
    expect(prompt.indexOf(`with ${order[0]}`)).toBeLessThan(prompt.indexOf(`with ${order[1]}`));
    expect(prompt.endsWith('Own words.')).toBe(true);
    prompts.push(prompt);
  }
  expect(prompts[0]).not.toBe(prompts[1]);
});
