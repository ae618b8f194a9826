import { randomBytes } from 'node:crypto';
import type { Agent, PostedSpaceMessage, Problem, Run, SpaceMessage } from '@troupe/protocol';
import { newId } from '@troupe/server';
import type { Script } from '@troupe/server/parts';
import { openServer, type TestServer, until } from '@troupe/testing';
import { SignJWT } from 'jose';
import { expect, inject } from 'vitest';
import { createLogger } from '../../src/base/logger.ts';

export interface Person {
  id: string;
  name: string;
}

export interface SpaceFixtureOptions {
  works?: boolean;
  jobs?: boolean;
  /** What tools may reach. */
  allow?: string[];
}

/** A whole Troupe behind real HTTP, with people, agents and spaces. */
export class SpaceFixture {
  readonly server: TestServer;
  readonly project: string;
  #signer: { secret: string; publicKey: string } | null = null;

  private constructor(server: TestServer, project: string) {
    this.server = server;
    this.project = project;
  }

  static async open(script: Script, more: SpaceFixtureOptions = {}): Promise<SpaceFixture> {
    const server = await openServer({
      postgresUrl: inject('postgresUrl'),
      script,
      logger: createLogger('error'),
      ...more,
    });
    // Made by the first request that needs it.
    await fetch(`${server.url}/v1/agents`);
    const { rows } = await server.db.pool.query('select id from troupe.projects');
    return new SpaceFixture(server, rows[0].id);
  }

  async ask<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
  }

  async done<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask<Body>(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  async refused(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const answer = await this.ask<Problem>(method, path, body);
    return [answer.status, answer.body?.code];
  }

  /** What a person sends with every request, and a person of that name. */
  async token(name: string): Promise<{ person: Person; headers: Record<string, string> }> {
    this.#signer ??= await this.#openTokens();
    const { secret, publicKey } = this.#signer;
    const sub = `${name}-${newId()}`;
    const token = new SignJWT({ sub, aud: 'us' }).setProtectedHeader({ alg: 'HS256' });
    const signed = await token.setExpirationTime('1 hour').sign(Buffer.from(secret));
    const headers = { 'troupe-key': publicKey, authorization: `Bearer ${signed}` };
    const { body } = await this.ask<{ id: string }>('GET', '/v1/me', undefined, headers);
    return { person: { id: body.id, name }, headers };
  }

  async #openTokens() {
    const { access } = this.server;
    const owner = { project: this.project, kind: 'dev' as const, keyId: null, entityId: null, scopes: null };
    const secret = randomBytes(32).toString('base64');
    await access.secrets.put(owner, 'TOKENS', secret);
    const rules = { issuer: null, jwksUrl: null, secretName: 'TOKENS', claim: 'sub' };
    await access.projects.update(owner, { tokens: { ...rules, algorithms: ['HS256'], audience: 'us' } });
    const made = await access.keys.create(owner, {
      name: 'people',
      kind: 'public',
      scopes: [],
      expiresAt: null,
    });
    return { secret, publicKey: made.key };
  }

  agent(name: string, more: object = {}): Promise<Agent> {
    return this.done('POST', '/v1/agents', { name, ...more });
  }

  async person(name: string): Promise<Person> {
    const { id } = await this.done<{ id: string }>('POST', '/v1/entities', {
      externalId: `${name}-${newId()}`,
      displayName: name,
    });
    return { id, name };
  }

  async space(members: (Agent | Person)[], more: object = {}): Promise<string> {
    const { id } = await this.done<{ id: string }>('POST', '/v1/spaces', {
      name: `Space ${newId().slice(-6)}`,
      members: members.map((member) =>
        'entityId' in member ? { agentId: member.id } : { entityId: member.id },
      ),
      ...more,
    });
    return id;
  }

  say(space: string, sender: Person, text: string, more: object = {}): Promise<PostedSpaceMessage> {
    return this.done('POST', `/v1/spaces/${space}/messages`, {
      content: { text },
      senderId: sender.id,
      ...more,
    });
  }

  async messages(space: string): Promise<SpaceMessage[]> {
    const { data } = await this.done<{ data: SpaceMessage[] }>(
      'GET',
      `/v1/spaces/${space}/messages?limit=1000`,
    );
    return data;
  }

  /** Who said what, as a person reads it. */
  async lines(space: string): Promise<string[]> {
    return (await this.messages(space)).map(({ senderName, content }) => `${senderName}: ${content.text}`);
  }

  async runs(space: string): Promise<Run[]> {
    const { data } = await this.done<{ data: Run[] }>('GET', `/v1/spaces/${space}/runs?limit=200`);
    return data.toReversed();
  }

  run(id: string): Promise<Run> {
    return this.done('GET', `/v1/runs/${id}`);
  }

  ended(id: string): Promise<Run> {
    return until(`run ${id} ends`, async () => {
      const run = await this.run(id);
      return ['completed', 'failed', 'canceled'].includes(run.status) ? run : null;
    });
  }

  /** All runs of all agents have ended. */
  async quiet(): Promise<void> {
    await until('all is quiet', async () => {
      const { rows } = await this.server.db.pool.query(
        `select count(*)::int as live from troupe.runs where status in ('queued', 'running')`,
      );
      return rows[0].live === 0;
    });
  }

  async events(space: string): Promise<{ type: string; runId?: string; data: Record<string, unknown> }[]> {
    const { data } = await this.done<{
      data: { type: string; runId?: string; data: Record<string, unknown> }[];
    }>('GET', `/v1/spaces/${space}/events?limit=1000`);
    return data;
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
