import { type Database, Database as DatabaseClass, Kernel, silentLogger } from '@troupe/server';
import { Stream } from '@troupe/server/parts';
import {
  buildSession,
  buildStart,
  KernelFixture,
  type KernelFixtureOptions,
  type KernelParts,
  openKernelParts,
} from '@troupe/testing';
import type { Caller } from '../../src/access/index.ts';
import { createApp, type HttpServer, listen, type Services } from '../../src/http/index.ts';
import { Client, type ConnectOptions } from './client.ts';

/** A kernel behind HTTP: sessions, clients that read streams, and appended events. */
export class StreamFixture extends KernelFixture implements AsyncDisposable {
  readonly stream: Stream;
  readonly server: HttpServer;
  readonly clients: Client[] = [];
  /** Who asks; null: a key of the project. */
  entity: string | null = null;
  project: string;

  private constructor(parts: KernelParts, stream: Stream, server: HttpServer) {
    super(parts);
    this.stream = stream;
    this.server = server;
    this.project = parts.ids.project;
  }

  static async open(
    postgresUrl: string,
    options: Omit<KernelFixtureOptions, 'postgresUrl'> & {
      heartbeatMs?: number;
      via?: (url: string) => string;
    } = {},
  ): Promise<StreamFixture> {
    const parts = await openKernelParts({ postgresUrl, ...options });
    // `via`: the server connects to the database at another address than the worker.
    const db = options.via ? connect(options.via(parts.databaseUrl)) : parts.db;
    const kernel = options.via ? new Kernel({ db, logger: silentLogger }) : parts.kernel;
    if (options.work === false || options.via) await kernel.listen();
    const { heartbeatMs } = options;
    const stream = new Stream({
      db,
      logger: silentLogger,
      line: kernel,
      ...(heartbeatMs ? { heartbeatMs } : {}),
    });
    const app = createApp({
      logger: silentLogger,
      health: { version: '0', phase: () => 'ready', checkDatabase: async () => null },
      // As much of it as streams use.
      services: () =>
        ({ db, kernel, stream, access: { authenticate: async () => fixture.caller } }) as unknown as Services,
    });
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    const fixture = new StreamFixture(parts, stream, server);
    if (options.via) {
      fixture.#closing.push(
        () => kernel.close(),
        () => db.close(),
      );
    }
    return fixture;
  }

  readonly #closing: (() => Promise<void>)[] = [];

  get caller(): Caller {
    const { project, entity } = this;
    return { project, kind: entity ? 'user' : 'key', keyId: null, entityId: entity, scopes: null };
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  session() {
    return buildSession(this.db, this.ids);
  }

  connect(session: { path: string }, options: ConnectOptions = {}): Client {
    const client = new Client(this.url + session.path, options);
    this.clients.push(client);
    return client;
  }

  async list(session: { path: string }, query = ''): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${this.url}${session.path}/events${query}`);
    return { status: response.status, body: await response.json() };
  }

  /** A message to the session and the run that answers it. */
  async say(session: { thread: string }, snapshot: string, text = 'go', kernel = this.kernel) {
    const item = buildStart(this.ids, snapshot, text, {
      thread: session.thread,
      run: { serial: true },
    });
    const started = await kernel.start(item);
    if (!started.ok) throw new Error(started.code);
    return item.run.id;
  }

  /** Events without a run, and without a word to anybody. */
  async append(thread: string, count: number, bytes = 0, db: Database = this.db): Promise<void> {
    const events = Array.from({ length: count }, () => ({
      type: 'budget.warning',
      data: { filler: 'x'.repeat(bytes) },
    }));
    await db.pool.query('select troupe.append($1, null, $2::jsonb, $3::jsonb)', [
      thread,
      '[]',
      JSON.stringify(events),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) client.close();
    await this.stream.close();
    await this.server.close(500);
    for (const close of this.#closing) await close();
    await this.close();
  }
}

export function connect(url: string): Database {
  return new DatabaseClass({ url, applicationName: 'troupe/stream', logger: silentLogger });
}

/** 1, 2, 3 … */
export function upTo(last: number, from = 1): number[] {
  return Array.from({ length: last - from + 1 }, (_, index) => from + index);
}
