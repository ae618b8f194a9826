/**
 * LangGraph's prebuilt agents on its Postgres checkpointer, one thread per run.
 * sync, async, exit: createReactAgent in that durability mode. agent-sync: createAgent of langchain, sync.
 */
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { createAgent } from 'langchain';
import pg from 'pg';
import { z } from 'zod';
import type { Adapter } from '../../adapter.ts';
import { decideFrom, history, runTool, TOOL_DESCRIPTION, TOOL_NAME, userText } from '../../scenario.ts';

class FakeModel extends BaseChatModel {
  _llmType() {
    return 'fake';
  }

  override bindTools() {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const { call, text = '' } = await decideFrom(
      messages,
      (message) => {
        const type = message.getType();
        return type === 'human' ? 'user' : type === 'tool' ? 'tool' : 'other';
      },
      (message) => String(message.content),
    );
    const calls = call ? [{ id: call.id, name: TOOL_NAME, args: call.args, type: 'tool_call' as const }] : [];
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls: calls }) }] };
  }
}

/** The parts of a compiled graph that both kinds of agent have. */
interface Graph {
  invoke(input: { messages: BaseMessage[] } | null, config: object): Promise<{ messages: BaseMessage[] }>;
  getState(config: object): Promise<{ values: { messages?: BaseMessage[] }; next: string[] }>;
  updateState(config: object, values: { messages: BaseMessage[] }, node: string): Promise<unknown>;
}

interface State {
  graph: Graph;
  durability: string;
}

function createGraph(variant: string, checkpointer: PostgresSaver): Graph {
  const lookup = tool(runTool, {
    name: TOOL_NAME,
    description: TOOL_DESCRIPTION,
    schema: z.object({ run: z.string(), step: z.number(), ms: z.number() }),
  });
  const llm = new FakeModel({});
  const agent =
    variant === 'agent-sync'
      ? createAgent({ model: llm, tools: [lookup], checkpointer }).graph
      : createReactAgent({ llm, tools: [lookup], checkpointSaver: checkpointer });
  return agent as unknown as Graph;
}

function config({ durability }: State, thread: string): object {
  return { configurable: { thread_id: thread }, durability, recursionLimit: 100 };
}

async function invoke(state: State, thread: string, text: string | null): Promise<unknown> {
  const input = text === null ? null : { messages: [new HumanMessage(text)] };
  const { messages } = await state.graph.invoke(input, config(state, thread));
  return messages.at(-1)!.content;
}

export const adapter: Adapter<State> = {
  async setUp({ databaseUrl, poolSize, variant }) {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
    pool.on('error', () => {});
    const checkpointer = new PostgresSaver(pool);
    await checkpointer.setup();
    return { graph: createGraph(variant, checkpointer), durability: variant.replace('agent-', '') };
  },

  run: (state, runId, options) => invoke(state, runId, userText(runId, options)),

  async seed(state, conversation, count) {
    const messages = history(count).map(({ role, text }) =>
      role === 'user' ? new HumanMessage(text) : new AIMessage(text),
    );
    await state.graph.updateState(config(state, conversation), { messages }, 'agent');
  },

  turn: (state, conversation, runId, options) => invoke(state, conversation, userText(runId, options)),

  crash: {
    start(state, runId, options, accepted) {
      accepted();
      return invoke(state, runId, userText(runId, options));
    },

    async finished(state, runIds) {
      const finished = await Promise.all(
        runIds.map(async (id) => {
          const { values, next } = await state.graph.getState(config(state, id));
          return next.length === 0 && String(values.messages?.at(-1)?.content).startsWith('Done with');
        }),
      );
      return runIds.filter((_, index) => finished[index]);
    },

    // The library has no worker: the application has to find the threads and invoke them again.
    async resumeManually(state, runIds) {
      await Promise.all(
        runIds.map(async (id) => {
          const { values, next } = await state.graph.getState(config(state, id));
          const isKnown = next.length > 0 || (values.messages?.length ?? 0) > 0;
          if (isKnown) await invoke(state, id, null);
        }),
      );
    },
  },
};
