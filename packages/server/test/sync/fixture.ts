import { randomBytes } from 'node:crypto';
import type { Problem } from '@troupe/protocol';
import { type Logger, newId } from '@troupe/server';
import { openServer, type ServerOptions, type TestServer, until } from '@troupe/testing';
import { SignJWT } from 'jose';
import { expect, inject } from 'vitest';

export type Headers = Record<string, string>;
export interface Person {
  id: string;
  name: string;
  headers: Headers;
}

export interface Page {
  documents: ({ id: string; _deleted: boolean } & Record<string, unknown>)[];
  checkpoint: string;
  restarted: boolean;
}
export interface Pushed {
  conflicts: Page['documents'];
  refused: { id: string; code: string }[];
}

/** Frames of a stream, as they come. */
export class Following {
  readonly frames: { event: string; data: string }[] = [];
  readonly #cut = new AbortController();
  ended = false;

  static async open(url: string, headers: Headers, path: string): Promise<Following> {
    const following = new Following();
    const response = await fetch(`${url}${path}`, {
      headers: { ...headers, accept: 'text/event-stream' },
      signal: following.#cut.signal,
    });
    expect(response.status).toBe(200);
    void following.#read(response.body!).catch(() => {
      following.ended = true;
    });
    return following;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = '';
    for await (const piece of body.pipeThrough(
      new TextDecoderStream() as never,
    ) as unknown as AsyncIterable<string>) {
      const frames = (rest + piece).split('\n\n');
      rest = frames.pop()!;
      for (const frame of frames) {
        const field = (name: string) =>
          frame
            .split('\n')
            .find((line) => line.startsWith(`${name}: `))
            ?.slice(name.length + 2);
        if (field('event')) this.frames.push({ event: field('event')!, data: field('data') ?? '' });
      }
    }
    this.ended = true;
  }

  /** What changed, as far as it was told. */
  get documents(): Page['documents'] {
    return this.frames.flatMap(({ event, data }) =>
      event === 'documents' ? (JSON.parse(data) as Page).documents : [],
    );
  }

  close(): void {
    this.#cut.abort();
  }
}

/** A Troupe with keys, an agent with the demo model, and people with tokens. */
export class SyncFixture {
  readonly server: TestServer;
  readonly project: string;
  readonly key: Headers;
  readonly theirKey: Headers;
  readonly publicKey: string;
  readonly #secret: string;
  agent = '';

  private constructor(
    server: TestServer,
    keys: { project: string; key: Headers; theirKey: Headers; publicKey: string; secret: string },
  ) {
    this.server = server;
    this.project = keys.project;
    this.key = keys.key;
    this.theirKey = keys.theirKey;
    this.publicKey = keys.publicKey;
    this.#secret = keys.secret;
  }

  static async open(options: Partial<ServerOptions> & { logger?: Logger } = {}): Promise<SyncFixture> {
    const server = await openServer({ postgresUrl: inject('postgresUrl'), mode: 'closed', ...options });
    const { access, db } = server;
    const secret = randomBytes(32).toString('base64');
    const found = async (name: string) => {
      const id = newId();
      await db.pool.query('insert into troupe.projects (id, name) values ($1, $2)', [id, name]);
      const owner = { project: id, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
      const keyOf = async (kind: 'secret' | 'public') =>
        (await access.keys.create(owner, { name: kind, kind, scopes: [], expiresAt: null })).key;
      return { id, owner, keyOf, secretKey: { authorization: `Bearer ${await keyOf('secret')}` } };
    };
    const ours = await found('ours');
    const theirs = await found('theirs');
    await access.secrets.put(ours.owner, 'TOKENS', secret);
    const rules = { issuer: null, jwksUrl: null, secretName: 'TOKENS', claim: 'sub' };
    await access.projects.update(ours.owner, { tokens: { ...rules, algorithms: ['HS256'], audience: 'us' } });
    const fixture = new SyncFixture(server, {
      project: ours.id,
      key: ours.secretKey,
      theirKey: theirs.secretKey,
      publicKey: await ours.keyOf('public'),
      secret,
    });
    const { id: provider } = await fixture.done<{ id: string }>(fixture.key, 'POST', '/v1/providers', {
      kind: 'demo',
      name: 'demo',
    });
    await fixture.done(fixture.key, 'POST', `/v1/providers/${provider}/models`, {
      modelId: 'm',
      isDefault: true,
    });
    const agent = await fixture.done<{ id: string }>(fixture.key, 'POST', '/v1/agents', { name: 'helper' });
    fixture.agent = agent.id;
    return fixture;
  }

  /** The same project on another server, after a restore. */
  on(server: TestServer): SyncFixture {
    const { project, key, theirKey, publicKey } = this;
    const restored = new SyncFixture(server, { project, key, theirKey, publicKey, secret: this.#secret });
    restored.agent = this.agent;
    return restored;
  }

  async token(name: string, lifetime = '1 hour'): Promise<string> {
    const token = new SignJWT({ sub: name, aud: 'us' }).setProtectedHeader({ alg: 'HS256' });
    return token.setExpirationTime(lifetime).sign(Buffer.from(this.#secret));
  }

  async person(name: string): Promise<Person> {
    const headers = {
      'troupe-key': this.publicKey,
      authorization: `Bearer ${await this.token(name)}`,
    };
    await this.done(headers, 'GET', '/v1/spaces');
    const { rows } = await this.server.db.pool.query(
      'select id from troupe.entities where project_id = $1 and external_id = $2',
      [this.project, name],
    );
    return { id: rows[0].id, name, headers };
  }

  async ask<Body = Problem>(headers: Headers, method: string, path: string, body?: unknown) {
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
  }

  async done<Body>(headers: Headers, method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask<Body>(headers, method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  }

  /** Until all transactions that were open have ended, also those of other tests: the order is that of the whole cluster. */
  async settle(): Promise<void> {
    const { pool } = this.server.db;
    const { rows } = await pool.query('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
    const behind = 'select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as passed';
    await until(
      'open transactions have ended',
      async () => (await pool.query(behind, [rows[0].next])).rows[0].passed,
    );
  }

  /** One page of what was written by now. */
  async pull(
    headers: Headers,
    collection: string,
    query: Record<string, string | number> = {},
  ): Promise<Page> {
    await this.settle();
    return this.pullNow(headers, collection, query);
  }

  /** One page, as it is answered. */
  pullNow(headers: Headers, collection: string, query: Record<string, string | number> = {}): Promise<Page> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return this.done(headers, 'GET', `/v1/sync/${collection}/pull?${search}`);
  }

  /** Page after page from a checkpoint on: what there is, and where that ends. */
  async pullAll(
    headers: Headers,
    collection: string,
    query: Record<string, string | number> = {},
  ): Promise<Page> {
    const limit = Number(query.limit ?? 100);
    const documents: Page['documents'] = [];
    await this.settle();
    for (let at = query; ; ) {
      const page = await this.pullNow(headers, collection, { ...at, limit });
      documents.push(...page.documents);
      if (page.documents.length < limit) return { ...page, documents };
      at = { ...query, checkpoint: page.checkpoint };
    }
  }

  push(headers: Headers, collection: string, documents: object[], assumed?: object): Promise<Pushed> {
    const rows = documents.map((newDocumentState) => ({
      newDocumentState: { _deleted: false, ...newDocumentState },
      ...(assumed ? { assumedMasterState: assumed } : {}),
    }));
    return this.done(headers, 'POST', `/v1/sync/${collection}/push`, { rows });
  }

  get sessions(): string {
    return `/v1/agents/${this.agent}/sessions`;
  }

  async session(person: Person, title = 'a session'): Promise<string> {
    return (await this.done<{ id: string }>(person.headers, 'POST', this.sessions, { title })).id;
  }

  async say(person: Person, session: string, text: string): Promise<{ id: string; run: { id: string } }> {
    return this.done(person.headers, 'POST', `${this.sessions}/${session}/messages`, { content: { text } });
  }

  async space(...people: Person[]): Promise<string> {
    const members = people.map(({ id }) => ({ entityId: id, role: 'admin' }));
    return (await this.done<{ id: string }>(this.key, 'POST', '/v1/spaces', { name: 'a space', members })).id;
  }

  /** A task with a sub-agent that was asked something, called two tools at once, has one result and waits for the other. */
  async task(
    person: Person,
    chat: string,
  ): Promise<{ task: string; subAgent: string; thread: string; run: string }> {
    const { pool } = this.server.db;
    const [task, subAgent, thread, run] = [newId(), newId(), newId(), newId()];
    const snapshot = await this.#snapshot();
    const at = [this.project, person.id, chat];
    await pool.query(
      `insert into troupe.threads (id, project_id, kind, last_message_seq) values ($1, $2, 'sub_agent', 5)`,
      [thread, this.project],
    );
    await pool.query(
      `insert into troupe.runs (id, project_id, door, agent_id, snapshot_id, thread_id, root_run_id, trigger_type, wall_ms, task_id, status, completed_at, outcome)
        values ($1, $2, 'task', $3, $4, $5, $1, 'task', 1000, $6, 'completed', now(), '{}')`,
      [run, this.project, this.agent, snapshot, thread, task],
    );
    await pool.query(
      `insert into troupe.tasks (id, project_id, user_id, chat_id, type, name, instruction, sub_agent_id, status, depth, parent_run_id, parent_call_id, run_id)
        values ($4, $1, $2, $3, 'agent', 'agent:helper', 'look it up', $5, 'running', 1, $6, 'c', $6)`,
      [...at, task, subAgent, run],
    );
    await pool.query(
      `insert into troupe.sub_agents (id, project_id, user_id, chat_id, task_id, agent_id, role, thread_id) values ($4, $1, $2, $3, $5, $6, 'helper', $7)`,
      [...at, subAgent, task, this.agent, thread],
    );
    const messages = [
      ['user', { text: 'look it up' }, null, null, null],
      ['assistant', { text: 'I look.' }, null, run, 1],
      ['tool_call', { id: 'call_1', name: 'search', arguments: { q: 'a', of: null } }, 'call_1', run, 1],
      ['tool_call', { id: 'call_2', name: 'search', arguments: { q: 'b' } }, 'call_2', run, 1],
      ['tool_result', { result: { found: 1 }, error: null }, 'call_1', run, 1],
    ] as const;
    for (const [at, [role, content, call, by, step]] of messages.entries()) {
      await pool.query(
        'insert into troupe.messages (thread_id, seq, id, role, content, tool_call_id, run_id, step) values ($1, $2, $3, $4, $5, $6, $7, $8)',
        [thread, at + 1, newId(), role, JSON.stringify(content), call, by, step],
      );
    }
    await pool.query(
      `insert into troupe.tool_calls (run_id, call_id, step, position, tool, args, effect, status, output, epoch)
        values ($1, 'call_1', 1, 0, 'search', '{"q": "a", "of": null}', 'pure', 'completed', '{"found": 1}', 0), ($1, 'call_2', 1, 1, 'search', '{"q": "b"}', 'pure', 'running', null, 0)`,
      [run],
    );
    return { task, subAgent, thread, run };
  }

  async #snapshot(): Promise<string> {
    const { rows } = await this.server.db.pool.query(
      'select id from troupe.compiled_snapshots where project_id = $1 limit 1',
      [this.project],
    );
    return rows[0].id;
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
