import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Agent, Model, Problem, Provider } from '@troupe/protocol';
import { Database, Kernel, newId, silentLogger } from '@troupe/server';
import { createDatabase } from '@troupe/testing';
import { expect } from 'vitest';
import type { Sealer } from '../../src/definitions/models/index.ts';
import { createApp, type HttpServer, listen, type Services } from '../../src/http/index.ts';

export interface Answer<Body> {
  status: number;
  body: Body;
  headers: Headers;
}

/** Who asks: a project, and where it is a person their entity. */
export interface As {
  project: string;
  person?: string;
}

/** The routes over real HTTP, a fresh database, and two projects that must not see each other. */
export class AgentsFixture {
  readonly db: Database;
  readonly here: As;
  readonly there: As;
  readonly statements: string[];
  /** May be taken away by a test. */
  readonly services: Services;
  readonly #http: HttpServer;
  readonly #drop: () => Promise<void>;

  private constructor(
    parts: Pick<AgentsFixture, 'db' | 'here' | 'there' | 'statements' | 'services'>,
    http: HttpServer,
    drop: () => Promise<void>,
  ) {
    this.db = parts.db;
    this.here = parts.here;
    this.there = parts.there;
    this.statements = parts.statements;
    this.services = parts.services;
    this.#http = http;
    this.#drop = drop;
  }

  static async open(postgresUrl: string): Promise<AgentsFixture> {
    const database = await createDatabase(postgresUrl);
    const statements: string[] = [];
    const db = new Database({
      url: database.url,
      applicationName: 'troupe/test',
      logger: silentLogger,
      onStatement: (name) => statements.push(name),
    });
    const [here, there] = [{ project: newId() }, { project: newId() }];
    for (const { project } of [here, there]) {
      await db.rows.insertInto('projects').values({ id: project, name: project }).execute();
    }
    const services = {
      db,
      kernel: new Kernel({ db, logger: silentLogger }),
      sealer: createSealer(),
      environmentKeys: { anthropic: true },
      environmentProject: here.project,
      access: {
        authenticate: async (headers: Headers) => {
          const person = headers.get('x-person');
          return {
            project: headers.get('x-project')!,
            kind: person ? 'user' : 'key',
            keyId: 'the-key',
            entityId: person,
            scopes: null,
          };
        },
      },
    } as unknown as Services;
    const health = { version: '0', phase: () => 'ready' as const, checkDatabase: async () => null };
    const app = createApp({ logger: silentLogger, health, services: () => services });
    const http = await listen(app, { host: '127.0.0.1', port: 0 });
    return new AgentsFixture({ db, here, there, statements, services }, http, database.drop);
  }

  async close(): Promise<void> {
    await this.#http.close(1_000);
    await this.services.kernel.close();
    await this.db.close();
    await this.#drop();
  }

  /** A body that is an object is sent as JSON, text as the type that is given. */
  async send<Body = Problem>(
    method: string,
    path: string,
    { body, type, as = this.here }: { body?: unknown; type?: string; as?: As } = {},
  ): Promise<Answer<Body>> {
    const headers: Record<string, string> = { 'x-project': as.project };
    if (as.person) headers['x-person'] = as.person;
    if (body !== undefined) headers['content-type'] = type ?? 'application/json';
    const sent = body === undefined ? null : type ? (body as string) : JSON.stringify(body);
    const response = await fetch(`${this.#http.url}${path}`, { method, headers, body: sent });
    const text = await response.text();
    const json =
      /json/.test(response.headers.get('content-type') ?? '') && !response.headers.has('content-disposition');
    return {
      status: response.status,
      body: (json ? JSON.parse(text) : text) as Body,
      headers: response.headers,
    };
  }

  /** The same, for what must go well. */
  async get<Body>(path: string, as?: As): Promise<Body> {
    const answer = await this.send<Body>('GET', path, as ? { as } : {});
    expect([path, answer.status, answer.body]).toEqual([path, 200, answer.body]);
    return answer.body;
  }

  async createAgent(fields: object, as: As = this.here): Promise<Agent> {
    const answer = await this.send<Agent>('POST', '/v1/agents', { body: fields, as });
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body;
  }

  async patchAgent(id: string, patch: object): Promise<Agent> {
    const answer = await this.send<Agent>('PATCH', `/v1/agents/${id}`, { body: patch });
    expect([answer.status, answer.body]).toEqual([200, answer.body]);
    return answer.body;
  }

  async createProvider(fields: object = {}, as: As = this.here): Promise<Provider> {
    const body = { kind: 'openai', name: `provider ${newId()}`, ...fields };
    const answer = await this.send<Provider>('POST', '/v1/providers', { body, as });
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body;
  }

  async createModel(fields: object = {}, as: As = this.here): Promise<Model> {
    const provider = await this.createProvider({}, as);
    const body = { modelId: `model ${newId()}`, ...fields };
    const answer = await this.send<Model>('POST', `/v1/providers/${provider.id}/models`, { body, as });
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body;
  }

  async audit(
    target: string,
  ): Promise<{ action: string; actor_kind: string; actor_id: string | null; data: unknown }[]> {
    return this.db.rows
      .selectFrom('audit_log')
      .select(['action', 'actor_kind', 'actor_id', 'data'])
      .where('target', '=', target)
      .orderBy('id')
      .execute();
  }
}

/** Bound to project and name, as the real one is. */
export function createSealer(): Sealer {
  const secret = randomBytes(32);
  const bound = (project: string, name: string) => Buffer.from(`${project}/${name}`);
  return {
    seal(project, name, value) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(bound(project, name));
      const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return { nonce: nonce.toString('base64'), sealed: sealed.toString('base64') };
    },
    open(project, name, envelope) {
      const { nonce, sealed } = envelope as { nonce: string; sealed: string };
      const bytes = Buffer.from(sealed, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', secret, Buffer.from(nonce, 'base64'));
      decipher.setAAD(bound(project, name)).setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
    },
  };
}
