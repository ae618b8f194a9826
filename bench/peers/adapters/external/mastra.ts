/**
 * Mastra on @mastra/pg.
 * memory: Agent.generate with Memory and savePerStep; messages are saved after each step and nothing is resumed.
 * last10: the same with Mastra's default window of ten messages, for W2.
 * durable: createDurableAgent with automatic recovery, plus Memory in W2.
 */
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { createDurableAgent } from '@mastra/core/agent/durable';
import type { MastraModelConfig } from '@mastra/core/llm';
import { createTool } from '@mastra/core/tools';
import { Memory } from '@mastra/memory';
import { PostgresStore } from '@mastra/pg';
import { MockLanguageModelV3 } from 'ai/test';
import pg from 'pg';
import { z } from 'zod';
import type { Adapter } from '../../adapter.ts';
import { history, runTool, TOOL_DESCRIPTION, TOOL_NAME, userText } from '../../scenario.ts';
import { generate, stream } from './fake-language-model.ts';

/** Answers in a thread; the id of the run is the harness's. */
type Answer = (runId: string, text: string, thread: string) => Promise<string>;

interface State {
  mastra: Mastra;
  memory: Memory;
  pool: pg.Pool;
  answer: Answer;
}

const RESOURCE = 'bench';
const SAVE_BATCH = 500;

/** The mock keeps every prompt it has seen, which is not the library's memory. */
function createModel(): MockLanguageModelV3 {
  const model: MockLanguageModelV3 = new MockLanguageModelV3({
    doGenerate: (options) => {
      model.doGenerateCalls.length = 0;
      return generate(options);
    },
    doStream: (options) => {
      model.doStreamCalls.length = 0;
      return stream(options);
    },
  });
  return model;
}

function createAnswer(mastra: Mastra): Answer {
  return async (_runId, text, thread) => {
    const memory = { thread, resource: RESOURCE };
    return (await mastra.getAgent('agent').generate(text, { memory, maxSteps: 50, savePerStep: true })).text;
  };
}

/** The one method that the benchmark uses; the type of the whole agent depends on its tools. */
interface DurableAgent {
  stream(
    text: string,
    options: { runId: string; memory: { thread: string; resource: string }; maxSteps: number },
  ): Promise<{ output: { text: Promise<string> }; cleanup(): void }>;
}

function createDurableAnswer(agent: DurableAgent): Answer {
  return async (runId, text, thread) => {
    const memory = { thread, resource: RESOURCE };
    const { output, cleanup } = await agent.stream(text, { runId, memory, maxSteps: 50 });
    try {
      return await output.text;
    } finally {
      cleanup();
    }
  };
}

export const adapter: Adapter<State> = {
  async setUp({ databaseUrl, poolSize, variant }) {
    const storage = new PostgresStore({ id: 'pg', connectionString: databaseUrl, max: poolSize });
    await storage.init();
    const memory = new Memory({
      storage,
      options: {
        // The model sees the whole conversation, as with the other systems.
        lastMessages: variant === 'last10' ? 10 : 100_000,
        semanticRecall: false,
        workingMemory: { enabled: false },
        generateTitle: false,
      },
    });
    const lookup = createTool({
      id: TOOL_NAME,
      description: TOOL_DESCRIPTION,
      inputSchema: z.object({ run: z.string(), step: z.number(), ms: z.number() }),
      execute: runTool,
    });
    const plain = new Agent({
      id: 'agent',
      name: 'agent',
      instructions: 'You look up records.',
      model: createModel() as unknown as MastraModelConfig,
      tools: { [TOOL_NAME]: lookup },
      memory,
    });
    const durable = variant === 'durable' ? createDurableAgent({ agent: plain, maxSteps: 50 }) : undefined;
    const mastra = new Mastra({
      agents: { agent: (durable ?? plain) as Agent },
      storage,
      logger: false,
      ...(durable ? { recovery: { durableAgents: 'auto' as const } } : {}),
    }) as Mastra;
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    pool.on('error', () => {});
    return { mastra, memory, pool, answer: durable ? createDurableAnswer(durable) : createAnswer(mastra) };
  },

  run: ({ answer }, runId, options) => answer(runId, userText(runId, options), runId),

  async seed({ memory }, conversation, count) {
    const now = new Date();
    await memory.saveThread({
      thread: {
        id: conversation,
        resourceId: RESOURCE,
        title: 'bench',
        createdAt: now,
        updatedAt: now,
        metadata: {},
      },
    });
    const firstAt = now.getTime() - count * 10 - 1_000;
    const messages = history(count).map(({ role, text }, index) => ({
      id: `${conversation}-${index}`,
      threadId: conversation,
      resourceId: RESOURCE,
      role,
      type: 'v2',
      createdAt: new Date(firstAt + index * 10),
      content: { format: 2 as const, parts: [{ type: 'text' as const, text }], content: text },
    }));
    for (let index = 0; index < count; index += SAVE_BATCH) {
      await memory.saveMessages({ messages: messages.slice(index, index + SAVE_BATCH) });
    }
  },

  turn: ({ answer }, conversation, runId, options) => answer(runId, userText(runId, options), conversation),

  crash: {
    start({ answer }, runId, options, accepted) {
      accepted();
      return answer(runId, userText(runId, options), runId);
    },

    // A run is finished when its final answer is in its thread.
    async finished({ pool }, runIds) {
      const { rows } = await pool.query<{ thread_id: string }>(
        `select distinct thread_id from mastra_messages
         where role = 'assistant' and content like '%Done with %' and thread_id = any($1)`,
        [runIds],
      );
      return rows.map(({ thread_id }) => thread_id);
    },

    async recover({ mastra }) {
      mastra.recoverAllDurableAgents().catch(console.error);
    },
  },
};
