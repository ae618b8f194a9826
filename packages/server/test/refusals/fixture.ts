import type { Endpoint } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { KernelFixture, type KernelParts, openKernelParts } from '@troupe/testing';
import type { Hono } from 'hono';
import { inject } from 'vitest';
import { createLogger } from '../../src/base/logger.ts';
import { inside } from '../access/fixture.ts';
import { openHttpSide } from '../http-side.ts';

/** The HTTP side of a Troupe with one of each thing in it, and no worker: what is stored changes by requests alone. */
export class RefusalFixture extends KernelFixture {
  readonly app: Hono;
  readonly authorization: string;
  /** How many read a stream. */
  readonly readers: () => number;
  /** Errors that were logged. */
  readonly logged: string[];
  /** What there is, by the name of the parameter that leads to it. */
  readonly things: Record<string, string> = {};

  private constructor(
    parts: KernelParts,
    app: Hono,
    authorization: string,
    logged: string[],
    readers: () => number,
  ) {
    super(parts);
    this.app = app;
    this.authorization = authorization;
    this.logged = logged;
    this.readers = readers;
  }

  static async open(): Promise<RefusalFixture> {
    const parts = await openKernelParts({ postgresUrl: inject('postgresUrl'), work: false });
    const logged: string[] = [];
    const { services, app } = await openHttpSide(
      parts,
      createLogger('warn', { write: (line) => void logged.push(line) }),
    );
    // The project of whoever runs the server, so that no endpoint is closed to the key.
    await parts.db.pool.query(`delete from troupe.projects where name = 'default'`);
    await parts.db.pool.query(`update troupe.projects set name = 'default' where id = $1`, [
      parts.ids.project,
    ]);
    const { key } = await services.access.keys.create(inside(parts.ids.project), {
      name: 'ours',
      kind: 'secret',
      scopes: [],
      expiresAt: null,
    });
    const fixture = new RefusalFixture(parts, app, `Bearer ${key}`, logged, () => services.stream.readers);
    await fixture.#furnish();
    return fixture;
  }

  async #furnish(): Promise<void> {
    const { id: providerId } = await this.done('POST', '/v1/providers', { kind: 'demo', name: 'p' });
    const { id: modelId } = await this.done('POST', `/v1/providers/${providerId}/models`, {
      modelId: 'm',
      isDefault: true,
    });
    const { id: agentId } = await this.done('POST', '/v1/agents', { name: 'a' });
    const sessions = `/v1/agents/${agentId}/sessions`;
    const { id: sessionId } = await this.done('POST', sessions, {});
    const { id: messageId, run } = await this.done('POST', `${sessions}/${sessionId}/messages`, {
      content: { text: 'x' },
    });
    // What a query that must be there is given: every parameter is 1.
    const file = { method: 'PUT', body: 'x', headers: { 'content-type': 'text/plain' } };
    await this.request(`${sessions}/${sessionId}/files/content?path=1`, file);
    const { id: keyId } = await this.done('POST', '/v1/keys', { name: 'k' });
    await this.done('PUT', '/v1/secrets/NAME', { value: 'x' });
    await this.done('PUT', `/v1/budgets/agent/${agentId}/tokens`, { amount: 1 });
    await this.done('PUT', `/v1/agents/${agentId}/memories/KEY`, { value: 'x' });
    const { id: goalId } = await this.done('POST', `/v1/agents/${agentId}/goals`, { description: 'x' });
    const { id: planId } = await this.done('POST', `/v1/agents/${agentId}/plans`, {
      name: 'x',
      runAfter: '1 day',
    });
    const { id: toolId } = await this.done('POST', '/v1/tools', { name: 't', kind: 'static' });
    const { id: mcpServerId } = await this.done('POST', '/v1/mcp-servers', {
      name: 'm',
      transport: 'http',
      url: 'http://127.0.0.1:9/mcp',
    });
    const agents = [{ key: 'KEY', isDefault: true, allowRespond: true }];
    const { id: network } = await this.done('POST', '/v1/networks', { name: 'n', agents });
    await this.done('POST', `/v1/networks/${network}/publish`, {});
    const rows = { rows: [{ input: 'x' }] };
    const { id: batchId } = await this.done('POST', `/v1/networks/${network}/batches`, rows);
    const [taskId, subAgentId] = [newId(), newId()];
    const { pool } = this.db;
    await pool.query(
      `insert into troupe.tasks (id, project_id, chat_id, type, name, instruction, sub_agent_id, depth, parent_run_id, parent_call_id, run_id)
        values ($1, $2, $3, 'agent', 'agent:a', 'x', $4, 1, $5, 'c', $5)`,
      [taskId, this.ids.project, sessionId, subAgentId, run.id],
    );
    await pool.query(
      `insert into troupe.sub_agents (id, project_id, chat_id, task_id, agent_id, role, thread_id) values ($1, $2, $3, $4, $5, 'a', $6)`,
      [subAgentId, this.ids.project, sessionId, taskId, agentId, newId()],
    );
    const user = { members: [{ user: 'u', role: 'admin' }] };
    const { id: spaceId } = await this.done('POST', '/v1/spaces', user);
    const { data } = await this.done('GET', `/v1/spaces/${spaceId}/members`);
    const entityId = data[0].entityId;
    const { id: clientId } = await this.done('POST', '/v1/clients', { clientKey: 'c', entityId });
    const said = { content: { text: 'x' }, user: 'u' };
    const { id: spaceMessageId } = await this.done('POST', `/v1/spaces/${spaceId}/messages`, said);
    const action = { type: 'webhook', url: 'https://example.com/' };
    const rule = { name: 'r', collection: 'spaces', events: ['create'], action };
    const { id: trigger } = await this.done('POST', '/v1/triggers', rule);
    const deliveryId = newId();
    await this.db.pool.query(
      `insert into troupe.trigger_deliveries (id, project_id, trigger_id, version, action_version, change_id, event, path, document_id, depth, own, changed_at,
          status, ended_at) values ($1, $2, $3, 1, 1, 1, 'create', 'x/x', 'x', 0, false, now(), 'dead', now())`,
      [deliveryId, this.ids.project, trigger],
    );
    const more = {
      trigger,
      deliveryId,
      spaceId,
      spaceMessageId,
      entityId,
      clientId,
      goalId,
      planId,
      toolId,
      mcpServerId,
      network,
      batchId,
      taskId,
      subAgentId,
      key: 'KEY',
      keyId,
      name: 'NAME',
      version: '1',
      step: '1',
      capabilityId: 'current_time',
      collection: 'sessions',
      scope: 'agent',
      scopeId: agentId,
      unit: 'tokens',
    };
    Object.assign(this.things, {
      providerId,
      modelId,
      agentId,
      sessionId,
      messageId,
      runId: run.id,
      ...more,
    });
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', this.authorization);
    return this.app.request(path, { ...init, headers });
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
  async done(method: string, path: string, body?: unknown): Promise<any> {
    const response = await this.request(path, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return text && JSON.parse(text);
  }

  pathOf({ path }: Endpoint, instead: Record<string, string> = {}): string {
    const messages = path.startsWith('/v1/spaces/') ? { messageId: this.things.spaceMessageId! } : {};
    const things: Record<string, string> = { ...this.things, ...messages, ...instead };
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => things[name] ?? newId());
  }

  /** Everything that is stored, but when keys were used and what is kept for requests that are sent again. */
  async picture(): Promise<Record<string, string>> {
    const { pool } = this.db;
    const { rows: tables } = await pool.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'troupe' and table_type = 'BASE TABLE'
        and table_name <> 'idempotency_keys'`,
    );
    const picture: Record<string, string> = {};
    for (const { name } of tables) {
      const { rows } = await pool.query(
        `select count(*) || ' ' || coalesce(md5(string_agg((to_jsonb(t) - 'last_used_at')::text, ',' order by t::text)), '') as rows
          from troupe.${name} t`,
      );
      picture[name] = rows[0].rows;
    }
    return picture;
  }
}
