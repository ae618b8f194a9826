import type { Event, Invoked, Json, JsonObject, Message, Run, RunStep, ToolCall } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type ServerOptions, type TestServer } from '@troupe/testing';
import { expect, inject } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';

// A server whose networks are made, published and run over HTTP. Every run brings its script, known by its input.

export type Say = (request: ModelRequest, agent: string) => Turn | Promise<Turn>;

export const call = (name: string, args: Json = {}): Turn => ({ calls: [{ name, arguments: args }] });
export const route = (agent: string, context?: Json) =>
  call('route_to_agent', context === undefined ? { agent } : { agent, context });
export const respond = (payload: Json) => call('respond', { payload });
/** One turn after the other, whoever is at it. */
export const turns =
  (...all: Turn[]): Say =>
  ({ step }) =>
    all[Math.min(step, all.length) - 1]!;

export interface Seen {
  run: Run & { calls: ToolCall[]; steps: RunStep[] };
  messages: Message[];
  events: Event[];
}

export class NetworkFixture {
  readonly server: TestServer;
  readonly prompts: ModelRequest[];
  readonly answered: string[] = [];
  readonly #scripts: Map<string, Say>;

  private constructor(server: TestServer, prompts: ModelRequest[], scripts: Map<string, Say>) {
    this.server = server;
    this.prompts = prompts;
    this.#scripts = scripts;
  }

  static async open(options: Partial<ServerOptions> = {}): Promise<NetworkFixture> {
    const prompts: ModelRequest[] = [];
    const scripts = new Map<string, Say>();
    const server = await openServer({
      postgresUrl: inject('postgresUrl'),
      script: (request) => {
        prompts.push(structuredClone(request));
        const { text } = request.messages.find(({ role }) => role === 'user') as { text: string };
        const input = /ask-[0-9a-f-]{36}/.exec(text)![0];
        return scripts.get(input)!(request, /I am (\w+)\./.exec(request.system)?.[1] ?? '');
      },
      ...options,
    });
    return new NetworkFixture(server, prompts, scripts);
  }

  async ask<Body = JsonObject>(
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
    this.answered.push(text);
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
  }

  /** What must be taken. */
  async done<Body = JsonObject>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.ask<Body>(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  }

  /** What must be refused, by its code. */
  async refused(method: string, path: string, body?: unknown): Promise<string> {
    const answer = await this.ask<{ code: string }>(method, path, body);
    expect(answer.status, `${method} ${path}`).toBeGreaterThanOrEqual(400);
    return answer.body.code;
  }

  /** Made and published. */
  async network(definition: JsonObject): Promise<string> {
    const { id } = await this.done<{ id: string }>('POST', '/v1/networks', definition);
    await this.done('POST', `/v1/networks/${id}/publish`, {});
    return id;
  }

  async invoke(network: string, say: Say, more: JsonObject = {}): Promise<Invoked> {
    const input = `ask-${newId()}`;
    this.#scripts.set(input, say);
    return this.done<Invoked>('POST', `/v1/networks/${encodeURIComponent(network)}/invoke`, {
      input,
      mode: 'wait',
      timeoutMs: 20_000,
      ...more,
    });
  }

  /** All that can be read of a run. */
  async seen(run: string): Promise<Seen> {
    return {
      run: await this.done('GET', `/v1/runs/${run}`),
      messages: (await this.done<{ data: Message[] }>('GET', `/v1/runs/${run}/messages`)).data,
      events: (await this.done<{ data: Event[] }>('GET', `/v1/runs/${run}/events?limit=1000`)).data,
    };
  }

  async play(network: string, say: Say, more: JsonObject = {}) {
    const invoked = await this.invoke(network, say, more);
    return { invoked, ...(await this.seen(invoked.id)), shown: this.shownTo(invoked.id) };
  }

  shownTo(run: string): ModelRequest[] {
    return this.prompts.filter(({ runId }) => runId === run);
  }
}
