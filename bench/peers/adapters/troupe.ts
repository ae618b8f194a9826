/** Troupe as a library in the measured process: one worker, everything in Postgres. */
import { createHash } from 'node:crypto';
import type { Json } from '@troupe/protocol';
import { agentSnapshot } from '@troupe/protocol/snapshots';
import {
  createModels,
  Database,
  type Door,
  Kernel,
  type Model,
  migrate,
  newId,
  saveSnapshot,
  silentLogger,
  toModelMessages,
} from '@troupe/server';
import type { Adapter } from '../adapter.ts';
import {
  decideFrom,
  history,
  type RunOptions,
  runTool,
  TOOL_DESCRIPTION,
  TOOL_NAME,
  type ToolArguments,
  userText,
} from '../scenario.ts';

interface State {
  db: Database;
  kernel: Kernel;
  project: string;
  agent: string;
  entity: string;
  snapshot: string;
}

/** Connections that the database opens beside those of the pool. */
const OTHER_CONNECTIONS = 12;
const MAX_RUN_MS = 120_000;

const door: Door = {
  name: 'bench',
  context: (view) => ({ system: view.snapshot.prompt, messages: toModelMessages(view.transcript, view) }),
  settle: (_view, answer) => ({
    messages: answer.text ? [{ role: 'assistant', content: { text: answer.text } }] : [],
    outcome: { text: answer.text },
  }),
};

const model: Model = {
  async generate({ messages }) {
    const { call, text = '' } = await decideFrom(
      messages,
      ({ role }) => (role === 'user' || role === 'tool' ? role : 'other'),
      (message) => (message as { text: string }).text,
    );
    return {
      text,
      calls: call ? [{ id: call.id, name: TOOL_NAME, arguments: { ...call.args } }] : [],
      finishReason: call ? 'tool_calls' : 'stop',
      usage: { inputTokens: 0, outputTokens: 0 },
    };
  },
};

/** As sessions are started. */
const MAX_HISTORY = 5_000;
/** A small model: long conversations are summarised, and the same number of messages stays verbatim at every size. */
const CONTEXT_TOKENS = 16_384;
/** Messages that a session with so many has after its newest summary. */
const VERBATIM = 40;

/** The harness names runs by text; the same name is always the same id. */
function toId(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

async function begin(state: State, runId: string, options: RunOptions, thread?: string): Promise<string> {
  const run = toId(runId);
  await state.kernel.start({
    project: state.project,
    thread: thread ?? newId(),
    ...(thread ? {} : { createThread: 'session' as const }),
    message: { id: newId(), role: 'user', content: { text: userText(runId, options) } },
    run: {
      id: run,
      door: door.name,
      agent: state.agent,
      entity: state.entity,
      snapshot: state.snapshot,
      triggerType: 'message',
      serial: true,
      wallMs: 3_600_000,
      historyLimit: MAX_HISTORY,
    },
  });
  return run;
}

async function end({ kernel }: State, run: string): Promise<string> {
  const ended = await kernel.ended(run, { timeoutMs: MAX_RUN_MS });
  return (ended.outcome as { text: string } | null)?.text ?? JSON.stringify(ended);
}

async function createAgent(db: Database): Promise<Omit<State, 'db' | 'kernel'>> {
  const [project, agent, entity] = [toId('project'), toId('agent'), toId('entity')];
  await db.pool.query(
    `with project as (insert into troupe.projects (id, name) values ($1, 'bench') on conflict do nothing),
          agent as (insert into troupe.agents (id, project_id, name) values ($2, $1, 'bench') on conflict do nothing)
     insert into troupe.entities (id, project_id, type, agent_id) values ($3, $1, 'agent', $2) on conflict do nothing`,
    [project, agent, entity],
  );
  const snapshot = await saveSnapshot(
    db,
    project,
    agentSnapshot.parse({
      kind: 'agent',
      name: 'bench',
      models: [{ provider: 'fake', model: 'fake', contextTokens: CONTEXT_TOKENS }],
      tools: [
        {
          name: TOOL_NAME,
          description: TOOL_DESCRIPTION,
          provider: 'code',
          // A call in flight at a kill runs again, as with the other systems.
          effect: 'idempotent',
          inputSchema: {
            type: 'object',
            properties: { run: { type: 'string' }, step: { type: 'number' }, ms: { type: 'number' } },
            required: ['run', 'step', 'ms'],
          },
        },
      ],
    }),
  );
  return { project, agent, entity, snapshot };
}

export const adapter: Adapter<State> = {
  async setUp({ databaseUrl, poolSize }) {
    await migrate(databaseUrl);
    const db = new Database({
      url: databaseUrl,
      applicationName: 'bench',
      poolSize: poolSize - OTHER_CONNECTIONS,
      logger: silentLogger,
    });
    const created = await createAgent(db);
    const kernel = new Kernel({ db, logger: silentLogger });
    await kernel.work({
      doors: [door],
      models: createModels({ fake: () => model }),
      tools: { resolve: () => (args: Json) => runTool(args as unknown as ToolArguments) },
    });
    return { db, kernel, ...created };
  },

  async run(state, runId, options) {
    return end(state, await begin(state, runId, options));
  },

  async seed({ db, project }, conversation, count) {
    const upTo = Math.max(0, count - VERBATIM);
    await db.pool.query(
      `with thread as (
         insert into troupe.threads (id, project_id, kind, last_message_seq) values ($1, $2, 'session', $4 + 1)
       ), summary as (
         insert into troupe.messages (thread_id, seq, id, role, content, metadata)
         values ($1, $4 + 1, gen_random_uuid(), 'system', jsonb_build_object('text', 'They talked.'), $5)
       )
       insert into troupe.messages (thread_id, seq, id, role, content)
       select $1, ordinality, gen_random_uuid(), (message ->> 'role')::troupe.message_role,
              jsonb_build_object('text', message ->> 'text')
       from jsonb_array_elements($3::jsonb) with ordinality t(message)`,
      [
        ...[toId(conversation), project, JSON.stringify(history(count)), count],
        { 'troupe:summary': { upTo, kept: [] } },
      ],
    );
  },

  async turn(state, conversation, runId, options) {
    return end(state, await begin(state, runId, options, toId(conversation)));
  },

  crash: {
    async start(state, runId, options, accepted) {
      const run = await begin(state, runId, options);
      accepted();
      return end(state, run);
    },

    async finished({ db }, runIds) {
      const names = new Map(runIds.map((runId) => [toId(runId), runId]));
      const { rows } = await db.pool.query<{ id: string }>(
        `select id from troupe.runs where status = 'completed' and id = any($1)`,
        [[...names.keys()]],
      );
      return rows.map(({ id }) => names.get(id)!);
    },
  },
};
