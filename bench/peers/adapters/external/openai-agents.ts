/** @openai/agents with its in-memory session: nothing is durable. The cost of the loop alone. */
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  setTracingDisabled,
  tool,
  Usage,
} from '@openai/agents';
import { z } from 'zod';
import type { Adapter } from '../../adapter.ts';
import { decideFrom, history, runTool, TOOL_DESCRIPTION, TOOL_NAME, userText } from '../../scenario.ts';

setTracingDisabled(true);

interface State {
  agent: Agent;
  runner: Runner;
  sessions: Map<string, MemorySession>;
}

function assistantMessage(text: string) {
  return {
    type: 'message' as const,
    role: 'assistant' as const,
    status: 'completed' as const,
    content: [{ type: 'output_text' as const, text }],
  };
}

function roleOf(item: AgentInputItem): 'user' | 'tool' | 'other' {
  if ('role' in item && item.role === 'user') return 'user';
  return item.type === 'function_call_result' ? 'tool' : 'other';
}

function textOf(item: AgentInputItem): string {
  const { content } = item as { content: string | { text?: string }[] };
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

class FakeModel implements Model {
  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const items: AgentInputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const { call, text = '' } = await decideFrom(items, roleOf, textOf);
    if (!call) return { usage: new Usage(), output: [assistantMessage(text)] };
    return {
      usage: new Usage(),
      output: [
        {
          type: 'function_call',
          callId: call.id,
          name: TOOL_NAME,
          status: 'completed',
          arguments: JSON.stringify(call.args),
        },
      ],
    };
  }

  // biome-ignore lint/correctness/useYield: the benchmark does not stream
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('The benchmark does not stream.');
  }
}

export const adapter: Adapter<State> = {
  async setUp() {
    const lookup = tool({
      name: TOOL_NAME,
      description: TOOL_DESCRIPTION,
      parameters: z.object({ run: z.string(), step: z.number(), ms: z.number() }),
      execute: runTool,
    });
    const agent = new Agent({
      name: 'agent',
      instructions: 'You look up records.',
      model: new FakeModel(),
      tools: [lookup],
    });
    return { agent, runner: new Runner({ tracingDisabled: true }), sessions: new Map() };
  },

  async run({ runner, agent }, runId, options) {
    return (await runner.run(agent, userText(runId, options), { maxTurns: 50 })).finalOutput;
  },

  async seed({ sessions }, conversation, count) {
    const initialItems = history(count).map(
      ({ role, text }): AgentInputItem =>
        role === 'user' ? { role: 'user', content: text } : assistantMessage(text),
    );
    sessions.set(conversation, new MemorySession({ initialItems }));
  },

  async turn({ runner, agent, sessions }, conversation, runId, options) {
    const session = sessions.get(conversation)!;
    return (await runner.run(agent, userText(runId, options), { maxTurns: 50, session })).finalOutput;
  },
};
