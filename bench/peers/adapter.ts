// Troupe as one more system of the peers' harness: in-process library use, one worker, everything in Postgres.
import { createHash } from 'node:crypto';
import { agentSnapshot } from '@troupe/protocol';
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

/** What every adapter takes from the harness: the fake model and the one tool. */
interface Scenario {
  TOOL_NAME: string;
  TOOL_DESCRIPTION: string;
  userText(runId: string, options: RunOptions): string;
  decide(
    lastUserText: string,
    toolResultsSince: number,
  ): Promise<{ call?: { id: string; args: object }; text?: string }>;
  runTool(args: object): Promise<string>;
  history(count: number): { role: string; text: string }[];
}

interface RunOptions {
  tools: number;
  toolMs: number;
}

interface State {
  db: Database;
  kernel: Kernel;
  project: string;
  agent: string;
  entity: string;
  snapshot: string;
}

/** The harness names runs by text; the same name is always the same id. */
function idOf(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

const door: Door = {
  name: 'bench',
  context: (view) => ({ system: view.snapshot.prompt, messages: toModelMessages(view.transcript, view) }),
  settle: (_view, answer) => ({
    messages: answer.text ? [{ role: 'assistant', content: { text: answer.text } }] : [],
    outcome: { text: answer.text },
  }),
};

export function createAdapter(scenario: Scenario) {
  const model: Model = {
    async generate(request) {
      let results = 0;
      let index = request.messages.length - 1;
      for (; index >= 0 && request.messages[index]!.role !== 'user'; index--) {
        if (request.messages[index]!.role === 'tool') results++;
      }
      const last = request.messages[index] as { text: string };
      const answer = await scenario.decide(last.text, results);
      return {
        text: answer.text ?? '',
        calls: answer.call
          ? [{ id: answer.call.id, name: scenario.TOOL_NAME, arguments: answer.call.args as never }]
          : [],
        finishReason: answer.call ? 'tool_calls' : 'stop',
        usage: { inputTokens: 0, outputTokens: 0 },
      };
    },
  };

  async function begin(state: State, runId: string, options: RunOptions, thread?: string): Promise<string> {
    const run = idOf(runId);
    await state.kernel.start({
      project: state.project,
      thread: thread ?? newId(),
      ...(thread ? {} : { createThread: 'session' as const }),
      message: { id: newId(), role: 'user', content: { text: scenario.userText(runId, options) } },
      run: {
        id: run,
        door: door.name,
        agent: state.agent,
        entity: state.entity,
        snapshot: state.snapshot,
        triggerType: 'message',
        serial: true,
        wallMs: 3_600_000,
      },
    });
    return run;
  }

  async function end(state: State, run: string): Promise<string> {
    const ended = await state.kernel.ended(run, { timeoutMs: 120_000 });
    return (ended.outcome as { text: string } | null)?.text ?? JSON.stringify(ended);
  }

  return {
    name: 'troupe',
    variants: ['default'],
    packages: [],
    durability:
      'one row per message, call and step; a commit per answer and per result, before the next begins',
    resume: 'auto',
    acks: true,

    async setup({ pgUrl, poolSize }: { pgUrl: string; poolSize: number }): Promise<State> {
      await migrate(pgUrl);
      const db = new Database({
        url: pgUrl,
        applicationName: 'bench',
        poolSize: poolSize - 12,
        logger: silentLogger,
      });
      const [project, agent, entity] = [idOf('project'), idOf('agent'), idOf('entity')];
      await db.pool.query(
        `insert into troupe.projects (id, name) values ($1, 'bench') on conflict do nothing`,
        [project],
      );
      await db.pool.query(
        `insert into troupe.agents (id, project_id, name) values ($1, $2, 'bench') on conflict do nothing`,
        [agent, project],
      );
      await db.pool.query(
        `insert into troupe.entities (id, project_id, type, agent_id) values ($1, $2, 'agent', $3) on conflict do nothing`,
        [entity, project, agent],
      );
      const snapshot = await saveSnapshot(
        db,
        project,
        agentSnapshot.parse({
          kind: 'agent',
          name: 'bench',
          models: [{ provider: 'fake', model: 'fake' }],
          // As for the other systems: a tool in flight at a kill runs again.
          tools: [
            {
              name: scenario.TOOL_NAME,
              description: scenario.TOOL_DESCRIPTION,
              provider: 'code',
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
      const kernel = new Kernel({ db, logger: silentLogger });
      await kernel.work({
        doors: [door],
        models: createModels({ fake: () => model }),
        tools: { resolve: () => (args) => scenario.runTool(args as object) },
      });
      return { db, kernel, project, agent, entity, snapshot };
    },

    async runOnce(state: State, runId: string, options: RunOptions): Promise<string> {
      return end(state, await begin(state, runId, options));
    },

    async seed(state: State, conversation: string, count: number): Promise<void> {
      const thread = idOf(conversation);
      await state.db.pool.query(
        `with t as (insert into troupe.threads (id, project_id, kind, last_message_seq) values ($1, $2, 'session', $4))
         insert into troupe.messages (thread_id, seq, id, role, content)
         select $1, o, gen_random_uuid(), (e->>'role')::troupe.message_role, jsonb_build_object('text', e->>'text')
         from jsonb_array_elements($3::jsonb) with ordinality t(e, o)`,
        [thread, state.project, JSON.stringify(scenario.history(count)), count],
      );
    },

    async turn(state: State, conversation: string, runId: string, options: RunOptions): Promise<string> {
      return end(state, await begin(state, runId, options, idOf(conversation)));
    },

    async start(state: State, runId: string, options: RunOptions, ack: () => void): Promise<string> {
      const run = await begin(state, runId, options);
      ack();
      return end(state, run);
    },

    async finished(state: State, runIds: string[]): Promise<string[]> {
      const names = new Map(runIds.map((runId) => [idOf(runId), runId]));
      const { rows } = await state.db.pool.query<{ id: string }>(
        `select id from troupe.runs where status = 'completed' and id = any($1)`,
        [[...names.keys()]],
      );
      return rows.map((row) => names.get(row.id)!);
    },

    async recoverAuto(): Promise<void> {}, // a worker takes over by itself

    async teardown(state: State): Promise<void> {
      await state.kernel.close();
      await state.db.close();
    },
  };
}
