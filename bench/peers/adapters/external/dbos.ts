/**
 * DBOS Transact: the loop is a workflow; every model call and every tool call is a step.
 * DBOS has no conversation store. W2 keeps messages in a table of its own, read inside the model step (so that only
 * the step's output is recorded) and appended to in one step at the end.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import type { Adapter } from '../../adapter.ts';
import { decidePlain, type PlainMessage, runTool, userText } from '../../scenario.ts';
import { append, createMessages, load, seedMessages } from './message-table.ts';

let pool: pg.Pool;

async function loop(text: string, conversation?: string): Promise<string> {
  const messages: PlainMessage[] = [{ role: 'user', text }];
  for (;;) {
    const { call, text: answer = '' } = await DBOS.runStep(
      async () => decidePlain(conversation ? [...(await load(pool, conversation)), ...messages] : messages),
      { name: 'model' },
    );
    messages.push({ role: 'assistant', text: answer, ...(call ? { call } : {}) });
    if (!call) {
      if (conversation) await DBOS.runStep(() => append(pool, conversation, messages), { name: 'save' });
      return answer;
    }
    const result = await DBOS.runStep(() => runTool(call.args), { name: 'tool' });
    messages.push({ role: 'tool', text: result, id: call.id });
  }
}

const workflow = DBOS.registerWorkflow(loop, { name: 'agent' });

async function start(runId: string, text: string, conversation?: string) {
  return DBOS.startWorkflow(workflow, { workflowID: runId })(text, conversation);
}

export const adapter: Adapter<object> = {
  async setUp({ databaseUrl, poolSize }) {
    DBOS.setConfig({
      name: 'peers',
      systemDatabaseUrl: databaseUrl,
      systemDatabasePoolSize: poolSize,
      logLevel: 'error',
      applicationVersion: 'v1',
    });
    pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
    pool.on('error', () => {});
    await createMessages(pool);
    // Takes up the workflows of the process before.
    await DBOS.launch();
    return {};
  },

  async run(_state, runId, options) {
    return (await start(runId, userText(runId, options))).getResult();
  },

  seed: (_state, conversation, count) => seedMessages(pool, conversation, count),

  async turn(_state, conversation, runId, options) {
    return (await start(runId, userText(runId, options), conversation)).getResult();
  },

  crash: {
    async start(_state, runId, options, accepted) {
      const handle = await start(runId, userText(runId, options));
      accepted();
      return handle.getResult();
    },

    async finished(_state, runIds) {
      const { rows } = await pool.query<{ id: string }>(
        `select workflow_uuid as id from dbos.workflow_status where status = 'SUCCESS' and workflow_uuid = any($1)`,
        [runIds],
      );
      return rows.map(({ id }) => id);
    },
  },
};
