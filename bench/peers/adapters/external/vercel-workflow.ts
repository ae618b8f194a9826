/**
 * Vercel's Workflow SDK on @workflow/world-postgres without Next: the standalone bundles of its command behind a plain
 * HTTP server in the worker, to which the queue delivers over loopback. W2 keeps messages in a table of its own.
 * default: waits with `returnValue`, which polls once a second. fastwait: polls the run table every 5 ms, to show the
 * engine itself.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { start } from 'workflow/api';
import { getWorld } from 'workflow/runtime';
import type { Adapter } from '../../adapter.ts';
import { userText } from '../../scenario.ts';
import { createMessages, seedMessages } from './message-table.ts';

interface State {
  pool: pg.Pool;
  workflow: { workflowId: string };
  variant: string;
  /** Runs that somebody waits for, by their id in the SDK. */
  waiting: Map<string, () => void>;
}

type Handler = (request: Request) => Promise<Response>;

const ROUTE = '/.well-known/workflow/v1/';
const WAIT_MS = 5;
const QUEUE_CONCURRENCY = 64;

async function forward(handler: Handler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const answer = await handler(
    new Request(`http://127.0.0.1${request.url}`, {
      method: 'POST',
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks),
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
}

async function serve(port: number): Promise<{ workflowId: string }> {
  const require = createRequire(import.meta.url);
  const built = './workflow/.well-known/workflow/v1/';
  const handlers: Record<string, Handler> = {
    [`${ROUTE}flow`]: require(`${built}flow.js`).POST,
    [`${ROUTE}step`]: require(`${built}step.js`).POST,
  };
  const server = createServer((request, response) => {
    const handler = handlers[request.url!.split('?')[0]!];
    if (!handler) return void response.writeHead(404).end();
    forward(handler, request, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const manifest: { workflows: Record<string, Record<string, { workflowId: string }>> } = require(
    `${built}manifest.json`,
  );
  return Object.values(manifest.workflows).flatMap(({ agent }) => agent ?? [])[0]!;
}

async function begin({ workflow }: State, text: string, conversation?: string) {
  return start<string[], string>(workflow, conversation ? [text, conversation] : [text]);
}

async function end(state: State, run: Awaited<ReturnType<typeof begin>>): Promise<string> {
  if (state.variant === 'fastwait') {
    const isFirst = state.waiting.size === 0;
    const ended = new Promise<void>((resolve) => state.waiting.set(run.runId, resolve));
    if (isFirst) void poll(state);
    await ended;
  }
  return run.returnValue;
}

async function poll({ pool, waiting }: State): Promise<void> {
  while (waiting.size > 0) {
    await pause(WAIT_MS);
    const { rows } = await pool.query<{ id: string }>({
      name: 'poll',
      text: `select id from workflow.workflow_runs where status in ('completed', 'failed') and id = any($1)`,
      values: [[...waiting.keys()]],
    });
    for (const { id } of rows) {
      waiting.get(id)!();
      waiting.delete(id);
    }
  }
}

export const adapter: Adapter<State> = {
  async setUp({ databaseUrl, poolSize, ports, variant }) {
    Object.assign(process.env, {
      WORKFLOW_TARGET_WORLD: '@workflow/world-postgres',
      WORKFLOW_POSTGRES_URL: databaseUrl,
      WORKFLOW_LOCAL_BASE_URL: `http://127.0.0.1:${ports.worker}`,
      WORKFLOW_POSTGRES_WORKER_CONCURRENCY: String(QUEUE_CONCURRENCY),
      WORKFLOW_POSTGRES_MAX_POOL_SIZE: String(poolSize),
      PORT: String(ports.worker),
    });
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    pool.on('error', () => {});
    await createMessages(pool);
    await pool.query('create table if not exists bench_runs (id text primary key, workflow_run text)');
    const workflow = await serve(ports.worker);
    // Also enqueues the runs of the process before.
    await (await getWorld()).start?.();
    return { pool, workflow, variant, waiting: new Map() };
  },

  run: async (state, runId, options) => end(state, await begin(state, userText(runId, options))),

  seed: ({ pool }, conversation, count) => seedMessages(pool, conversation, count),

  turn: async (state, conversation, runId, options) =>
    end(state, await begin(state, userText(runId, options), conversation)),

  crash: {
    async start(state, runId, options, accepted) {
      const run = await begin(state, userText(runId, options));
      await state.pool.query('insert into bench_runs values ($1, $2)', [runId, run.runId]);
      accepted();
      return end(state, run);
    },

    async finished({ pool }, runIds) {
      const { rows } = await pool.query<{ id: string }>(
        `select bench_runs.id from bench_runs join workflow.workflow_runs on workflow_runs.id = workflow_run
         where status = 'completed' and bench_runs.id = any($1)`,
        [runIds],
      );
      return rows.map(({ id }) => id);
    },
  },
};
