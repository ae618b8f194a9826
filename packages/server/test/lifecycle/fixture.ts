import { type Database, silentLogger } from '@troupe/server';
import { openServer, type ServerOptions, type TestServer, until } from '@troupe/testing';
import { Troupe } from '@troupe/sdk';
import { inject } from 'vitest';
import { houseTasks } from '../../src/jobs/housekeeping.ts';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';

/** Calls the tool once for "use", waits for a client for "wait", fails for "fail", and answers with the text otherwise. */
function answer({ messages, system }: ModelRequest): Turn {
  const asked = messages.findLast(({ role }) => role === 'user') as { text?: string } | undefined;
  // A service tells the agent in its prompt.
  const text = /say_(\w+)/.exec(system)?.[1] ?? asked?.text ?? '';
  const last = messages.at(-1)!;
  if (last.role !== 'tool' && text.includes('use')) return { calls: [{ name: 'fact', arguments: {} }] };
  if (last.role !== 'tool' && text.includes('wait'))
    return { calls: [{ name: 'ask_client', arguments: {} }] };
  if (text.includes('fail')) return { error: { code: 'bad', message: 'no', retryable: false } };
  return { text: `answer to ${text}`, usage: { inputTokens: 100, outputTokens: 10 } };
}

/** A server with an agent that has two tools, and a client of the SDK. */
export class LifecycleFixture {
  readonly server: TestServer;
  readonly troupe: Troupe;
  readonly agentId: string;
  readonly project: string;

  private constructor(parts: Pick<LifecycleFixture, 'server' | 'troupe' | 'agentId' | 'project'>) {
    this.server = parts.server;
    this.troupe = parts.troupe;
    this.agentId = parts.agentId;
    this.project = parts.project;
  }

  static async open(options: Partial<ServerOptions> = {}): Promise<LifecycleFixture> {
    const server = await openServer({ postgresUrl: inject('postgresUrl'), script: answer, ...options });
    const troupe = new Troupe({ baseUrl: server.url });
    const provider = await troupe.models.createProvider({ body: { name: 'demo provider', kind: 'demo' } });
    await troupe.models.createModel({
      params: { providerId: provider.id },
      body: { modelId: 'script', inputPrice: 1, outputPrice: 2, isDefault: true },
    });
    const fact = { name: 'fact', kind: 'static', output: 42 };
    const client = { name: 'ask_client', kind: 'client', inputSchema: { type: 'object' } };
    await troupe.tools.create({ body: fact as never });
    await troupe.tools.create({ body: client as never });
    const agent = await troupe.agents.create({ body: { name: 'Keeper', tools: ['fact', 'ask_client'] } });
    const { rows } = await server.db.pool.query(
      'select project_id as project from troupe.agents where id = $1',
      [agent.id],
    );
    return new LifecycleFixture({ server, troupe, agentId: agent.id, project: rows[0].project });
  }

  get db(): Database {
    return this.server.db;
  }

  async session(body: object = {}, agentId = this.agentId) {
    return this.troupe.sessions.create({ params: { agentId }, body });
  }

  /** Says something and waits until the session has ended its run. */
  async say(session: { id: string; agentId: string }, text: string): Promise<string> {
    const params = { agentId: session.agentId, sessionId: session.id };
    const { run } = await this.troupe.sessions.postMessage({ params, body: { content: { text } } });
    await until('the run ended', async () => {
      const { status } = await this.troupe.runs.get({ params: { runId: run!.id } });
      return ['completed', 'failed', 'canceled', 'waiting_tool'].includes(status);
    });
    return run!.id;
  }

  async count(table: string, where = 'true'): Promise<number> {
    const { rows } = await this.db.pool.query(
      `select count(*)::int as n from troupe.${table} where ${where}`,
    );
    return rows[0].n;
  }

  /** Moves everything so many days into the past. */
  async age(days: number): Promise<void> {
    for (const [table, columns] of Object.entries(TIMES)) {
      const set = columns
        .map((column) => `${column} = ${column} - make_interval(days => ${days})`)
        .join(', ');
      await this.db.pool.query(`update troupe.${table} set ${set}`);
    }
  }

  /** Carries out the retention job. */
  async retain(): Promise<void> {
    const context = {
      db: this.db,
      logger: silentLogger,
      signal: new AbortController().signal,
      attempt: 1,
      lastAttempt: false,
    };
    await houseTasks()['retention']!({}, context);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

const TIMES: Record<string, string[]> = {
  sessions: ['created_at', 'updated_at', 'expires_at'],
  runs: ['created_at', 'started_at', 'completed_at', 'canceled_at'],
  run_steps: ['started_at', 'finished_at'],
  event_batches: ['created_at'],
  messages: ['created_at'],
  files: ['updated_at'],
  plans: ['updated_at'],
  trigger_deliveries: ['ended_at'],
  network_batches: ['created_at'],
  network_batch_items: ['ended_at'],
};
