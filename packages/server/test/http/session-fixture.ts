import type {
  Message,
  PostedMessage,
  Problem,
  Session,
  SnapshotLimits,
  SnapshotTool,
} from '@troupe/protocol';
import {
  createModels,
  Database,
  Kernel,
  newId,
  type Probe,
  silentLogger,
  type ToolExecute,
  type Tools,
} from '@troupe/server';
import { createDemo, createScripted, createSessionsDoor, type Script } from '@troupe/server/parts';
import { type AgentIds, buildProject, codeTools, createDatabase, until } from '@troupe/testing';
import { expect, inject } from 'vitest';
import type { Caller } from '../../src/access/index.ts';
import { recallActs } from '../../src/doors/shared/index.ts';
import { createApp, type HttpServer, listen, type Services } from '../../src/http/index.ts';
import { Past } from '../../src/kernel/index.ts';

export interface SessionFixtureOptions {
  /** Instead of the demo model. */
  script?: Script;
  /** Stands between the demo model and whoever asks it. */
  demo?: (demo: ReturnType<typeof createDemo>) => ReturnType<typeof createDemo>;
  tools?: Record<string, ToolExecute>;
  toolList?: Partial<SnapshotTool>[];
  limits?: Partial<SnapshotLimits>;
  /** Names; the second is for where the first fails. */
  models?: string[];
  contextTokens?: number;
  /** Name of the model that writes summaries; default: the agent's. */
  summariser?: string;
  summariserContext?: number;
  probe?: Probe;
  /** HTTP and work in one process (`dev`), or as two. */
  apart?: boolean;
  graceMs?: number;
}

/** A whole Troupe behind real HTTP: one project, one agent, a worker. */
export class SessionFixture {
  readonly db: Database;
  /** Of the database. */
  readonly url: string;
  readonly kernel: Kernel;
  readonly ids: AgentIds;
  readonly server: HttpServer;
  readonly scripted: ReturnType<typeof createScripted>;
  /** Who the next request comes from. */
  caller: Caller;
  readonly #close: () => Promise<void>;

  private constructor(
    parts: Pick<SessionFixture, 'db' | 'url' | 'kernel' | 'ids' | 'server' | 'scripted' | 'caller'>,
    close: () => Promise<void>,
  ) {
    this.db = parts.db;
    this.url = parts.url;
    this.kernel = parts.kernel;
    this.ids = parts.ids;
    this.server = parts.server;
    this.scripted = parts.scripted;
    this.caller = parts.caller;
    this.#close = close;
  }

  static async open(options: SessionFixtureOptions = {}): Promise<SessionFixture> {
    const database = await createDatabase(inject('postgresUrl'));
    const open = (name: string) => {
      const db = new Database({ url: database.url, applicationName: `test/${name}`, logger: silentLogger });
      const probe = options.probe;
      return { db, kernel: new Kernel({ db, logger: silentLogger, ...(probe ? { probe } : {}) }) };
    };
    const serving = open('serve');
    const working = options.apart ? open('work') : serving;
    const ids = await buildProject(serving.db);
    const scripted = createScripted(options.script ?? [{ text: 'Yes.' }]);
    const demo = (options.demo ?? ((model) => model))(createDemo());
    const models = createModels({ demo: () => demo, scripted: scripted.provider });
    const tools = withRecall(codeTools(options.tools ?? {}), working.db);
    const { graceMs } = options;
    await working.kernel.work({
      doors: [createSessionsDoor(working.db)],
      models,
      tools,
      ...(graceMs ? { graceMs } : {}),
    });
    if (options.apart) await serving.kernel.listen();
    await direct(serving.db, ids, options);
    const fixture: { opened?: SessionFixture } = {};
    const app = createApp({
      logger: silentLogger,
      health: { version: '0', phase: () => 'ready', checkDatabase: async () => null },
      // As much of it as these routes use.
      services: () =>
        ({
          ...serving,
          sealer: null,
          past: new Past(serving.db, [createSessionsDoor(serving.db)]),
          environmentKeys: {},
          access: { authenticate: async () => fixture.opened!.caller },
        }) as unknown as Services,
    });
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    const caller: Caller = {
      project: ids.project,
      kind: 'dev',
      keyId: null,
      entityId: null,
      scopes: null,
    };
    fixture.opened = new SessionFixture(
      { ...serving, url: database.url, ids, server, scripted, caller },
      async () => {
        await server.close(1_000);
        for (const { kernel, db } of new Set([serving, working])) {
          await kernel.close();
          await db.close();
        }
        await database.drop();
      },
    );
    return fixture.opened;
  }

  get sessions(): string {
    return `/v1/agents/${this.ids.agent}/sessions`;
  }

  async ask<Body = unknown>(method: string, path: string, body?: unknown) {
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
  }

  /** What must go well. */
  async done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask<Body>(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  async refused(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const answer = await this.ask<Problem>(method, path, body);
    return [answer.status, answer.body?.code];
  }

  /** A model of the project, by its id. What answers stays the model of this fixture. */
  async createModel(): Promise<string> {
    const provider = { name: `provider ${newId()}`, kind: 'demo' };
    const { id } = await this.done<{ id: string }>('POST', '/v1/providers', provider);
    const model = { modelId: `model ${newId()}` };
    return (await this.done<{ id: string }>('POST', `/v1/providers/${id}/models`, model)).id;
  }

  create(body: object = {}): Promise<Session> {
    return this.done('POST', this.sessions, body);
  }

  get(session: Session): Promise<Session> {
    return this.done('GET', `${this.sessions}/${session.id}`);
  }

  say(session: Session, text: string, more: object = {}): Promise<PostedMessage> {
    return this.done('POST', `${this.sessions}/${session.id}/messages`, { content: { text }, ...more });
  }

  async messages(session: Session): Promise<Message[]> {
    const { data } = await this.done<{ data: Message[] }>('GET', `${this.sessions}/${session.id}/messages`);
    return data;
  }

  /** Roles and texts, as a person reads them. */
  async lines(session: Session): Promise<string[]> {
    return (await this.messages(session)).map(
      ({ role, content }) => `${role}: ${(content as { text?: string }).text ?? ''}`,
    );
  }

  becomes(session: Session, status: string): Promise<Session> {
    return until(`session ${status}`, async () => {
      const now = await this.get(session);
      return now.status === status ? now : null;
    });
  }

  async events(session: Session): Promise<string[]> {
    const { rows } = await this.db.pool.query(
      'select type from troupe.events where thread_id = $1 order by seq',
      [session.threadId],
    );
    return rows.map((row) => row.type);
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** Functions of the test, and the tool of the sessions door. */
function withRecall(tools: Tools, db: Database): Tools {
  const acts = recallActs(db);
  return { ...tools, resolve: (tool) => acts[tool.name] ?? tools.resolve(tool) };
}

/** Has every snapshot of the project use the model, the tools and the limits of this fixture, whatever the agent says. */
async function direct(db: Database, ids: AgentIds, options: SessionFixtureOptions): Promise<void> {
  const tools = (options.toolList ?? []).map((tool) => ({
    description: '',
    provider: 'code',
    inputSchema: { type: 'object' },
    effect: 'once',
    timeoutMs: 60_000,
    deadlineMs: 3_600_000,
    config: {},
    ...tool,
  }));
  const provider = options.script ? 'scripted' : 'demo';
  const models = (options.models ?? ['model']).map((model) => ({
    provider,
    model,
    maxOutputTokens: 4096,
    inputPrice: 0,
    outputPrice: 0,
    ...(options.contextTokens ? { contextTokens: options.contextTokens } : {}),
  }));
  const summarisers = options.summariser
    ? [{ ...models[0], model: options.summariser, contextTokens: options.summariserContext ?? 16_000 }]
    : null;
  const patch = JSON.stringify({
    tools,
    models,
    ...(summarisers ? { compaction: { models: summarisers } } : {}),
  });
  const limits = JSON.stringify(options.limits ?? {});
  await db.pool.query(
    `create function troupe.direct() returns trigger language plpgsql as $$ begin
      new.compiled := jsonb_set(new.compiled || '${patch}', '{limits}', new.compiled->'limits' || '${limits}'); return new; end $$`,
  );
  await db.pool.query(
    'create trigger direct before insert on troupe.compiled_snapshots for each row execute function troupe.direct()',
  );
  // One that nothing in this process has cached.
  await db.pool.query('update troupe.agents set system_prompt = $2 where id = $1', [ids.agent, newId()]);
}
